"""A convolutional classifier of digits in stax, trained by an optimizer beside it."""

import jax
import jax.numpy as jnp
from jax.example_libraries import optimizers, stax

STEPS = 60
BATCH = 64
QUALITY = {"accuracy": 0.9}

LAYERS = (
    stax.Conv(8, (3, 3), padding="SAME"),
    stax.BatchNorm(),
    stax.Relu,
    stax.FanOut(2),
    stax.parallel(stax.MaxPool((2, 2), (2, 2)), stax.AvgPool((2, 2), (2, 2))),
    stax.FanInConcat(),
    stax.Flatten,
    stax.Dense(48),
    stax.Elu,
    stax.Dropout(0.9),
    stax.Dense(10),
    stax.LogSoftmax,
)


def train(data):
    images = jnp.asarray(data["images"], jnp.float32)[..., None]
    labels = jnp.asarray(data["labels"])
    init, apply = stax.serial(*LAYERS)
    start, drop = jax.random.split(jax.random.key(3))
    _, parameters = init(start, (BATCH, *images.shape[1:]))
    rate = optimizers.inverse_time_decay(1e-2, 40, 1.0)
    opt_init, opt_update, get_parameters = optimizers.adam(rate)
    state = opt_init(parameters)

    def loss_of(parameters, key, x, y):
        return -jnp.mean(apply(parameters, x, rng=key)[jnp.arange(BATCH), y])

    @jax.jit
    def step(index, state, x, y):
        key = jax.random.fold_in(drop, index)
        loss, gradient = jax.value_and_grad(loss_of)(get_parameters(state), key, x, y)
        return loss, opt_update(index, optimizers.clip_grads(gradient, 5.0), state)

    for index in range(STEPS):
        rows = (jnp.arange(BATCH) * 23 + index * 131) % len(images)
        loss, state = step(index, state, images[rows], labels[rows])
        yield loss
    found = apply(get_parameters(state), images[-500:], rng=drop)
    return {"accuracy": jnp.mean(jnp.argmax(found, -1) == labels[-500:])}
