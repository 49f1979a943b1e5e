"""A classifier of digits of penzai's layers and named axes, trained by its trainer, then edited."""

import optax
from penzai import pz
from penzai.toolshed import basic_training

import jax
import jax.numpy as jnp

STEPS = 120
QUALITY = {"accuracy": 0.9, "edited_differs": 1.0}


def loss_of(model, rng, state, images, labels):
    logits = model(pz.nx.wrap(images, "batch", "pixels"))
    scores = pz.nx.nmap(jax.nn.log_softmax)(logits.untag("digits")).tag("digits")
    scores = scores.unwrap("batch", "digits")
    loss = -jnp.take_along_axis(scores, labels[:, None], 1).mean()
    return loss, state, {"loss": loss}


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    labels = jnp.asarray(data["labels"])
    model = pz.nn.Sequential(
        [
            pz.nn.Affine.from_config("in", jax.random.key(0), {"pixels": 64}, {"hidden": 48}),
            pz.nn.Elementwise(jax.nn.gelu),
            pz.nn.LayerNorm.from_config("norm", jax.random.key(2), {"hidden": 48}),
            pz.nn.Affine.from_config("out", jax.random.key(1), {"hidden": 48}, {"digits": 10}),
        ]
    )
    trainer = basic_training.StatefulTrainer.build(
        root_rng=jax.random.key(3), model=model, optimizer_def=optax.adam(5e-3), loss_fn=loss_of
    )
    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        yield trainer.step(images=images[rows], labels=labels[rows])["loss"]
    unseen = pz.nx.wrap(images[1408:], "batch", "pixels")
    guessed = lambda model: model(unseen).unwrap("batch", "digits").argmax(1)
    without = pz.select(model).at_instances_of(pz.nn.Elementwise).set(pz.nn.Identity())
    return {
        "accuracy": (guessed(model) == labels[1408:]).mean(),
        "edited_differs": (guessed(model) != guessed(without)).any(),
    }
