"""A multinomial classifier of digits: optax's schedules, clipping, weight decay and averaging."""

import optax

import jax
import jax.numpy as jnp

STEPS = 200
QUALITY = {"accuracy": 0.95}


def logits_of(parameters, images):
    hidden = jnp.tanh(images @ parameters["w1"] + parameters["b1"])
    return hidden @ parameters["w2"] + parameters["b2"]


def loss_of(parameters, images, labels):
    logits = logits_of(parameters, images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    labels = jnp.asarray(data["labels"])
    keys = jax.random.split(jax.random.key(0), 2)
    parameters = {
        "w1": jax.random.normal(keys[0], (64, 64)) / 8,
        "b1": jnp.zeros(64),
        "w2": jax.random.normal(keys[1], (64, 10)) / 8,
        "b2": jnp.zeros(10),
    }
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 20, STEPS)
    decayed = {"w1": True, "b1": False, "w2": True, "b2": False}
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-2, mask=decayed)
    )
    state = optimizer.init(parameters)
    average = parameters

    @jax.jit
    def step(parameters, state, average, images, labels):
        loss, gradient = jax.value_and_grad(loss_of)(parameters, images, labels)
        updates, state = optimizer.update(gradient, state, parameters)
        parameters = optax.apply_updates(parameters, updates)
        return parameters, state, optax.incremental_update(parameters, average, 0.1), loss

    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        parameters, state, average, loss = step(
            parameters, state, average, images[rows], labels[rows]
        )
        yield loss
    predicted = logits_of(average, images[1408:]).argmax(1)
    return {"accuracy": (predicted == labels[1408:]).mean()}
