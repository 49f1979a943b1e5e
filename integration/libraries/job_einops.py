"""A mixer of 2 × 2 patches on digits, its layout changes and contractions written with einops."""

from einops import einsum, pack, rearrange, reduce, repeat

import jax
import jax.numpy as jnp

STEPS = 150
QUALITY = {"accuracy": 0.95}


def init(key):
    shapes = {
        "embed": (4, 32),
        "place": (16, 32),
        "mix_in": (17, 32),
        "mix_out": (32, 17),
        "widen": (32, 64),
        "narrow": (64, 32),
        "token": (1, 32),
        "read": (32, 10),
    }
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.normal(k, shape) / shape[0] ** 0.5
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def normalized(x):
    mean = reduce(x, "b t c -> b t 1", "mean")
    return (x - mean) * jax.lax.rsqrt(reduce((x - mean) ** 2, "b t c -> b t 1", "mean") + 1e-5)


def logits_of(p, images):
    patches = rearrange(images, "b (h i) (w j) -> b (h w) (i j)", i=2, j=2)
    x = einsum(patches, p["embed"], "b t p, p c -> b t c") + p["place"]
    x, _ = pack([repeat(p["token"], "1 c -> b 1 c", b=len(images)), x], "b * c")
    mixed = jax.nn.gelu(einsum(normalized(x), p["mix_in"], "b t c, t m -> b m c"))
    x = x + einsum(mixed, p["mix_out"], "b m c, m t -> b t c")
    wide = jax.nn.gelu(einsum(normalized(x), p["widen"], "b t c, c d -> b t d"))
    x = x + einsum(wide, p["narrow"], "b t d, d c -> b t c")
    return reduce(normalized(x), "b t c -> b c", "mean") @ p["read"]


def loss_of(p, images, labels):
    scores = jax.nn.log_softmax(logits_of(p, images))
    return -jnp.take_along_axis(scores, rearrange(labels, "b -> b 1"), axis=1).mean()


@jax.jit
def step(p, moment, images, labels):
    loss, gradient = jax.value_and_grad(loss_of)(p, images, labels)
    moment = jax.tree.map(lambda m, g: 0.9 * m + g, moment, gradient)
    return jax.tree.map(lambda w, m: w - 0.03 * m, p, moment), moment, loss


def train(data):
    images, labels = jnp.asarray(data["images"]), jnp.asarray(data["labels"])
    p = init(jax.random.key(2))
    moment = jax.tree.map(jnp.zeros_like, p)
    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        p, moment, loss = step(p, moment, images[rows], labels[rows])
        yield loss
    predicted = jnp.argmax(logits_of(p, images[1408:]), axis=1)
    return {"accuracy": jnp.mean(predicted == labels[1408:])}
