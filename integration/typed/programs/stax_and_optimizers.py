"""Networks as pairs of functions, optimizers as triples of them."""

import ricci
import ricci.numpy as jnp
from ricci import Array, random
from ricci.example_libraries import optimizers, stax

init, apply = stax.serial(stax.Dense(16), stax.Tanh, stax.Dense(1))


def loss(params: object, x: Array, y: Array) -> Array:
    return jnp.mean((apply(params, x) - y) ** 2)


def main() -> None:
    key = random.key(0)
    shape, params = init(key, (-1, 2))
    assert shape == (-1, 1)
    x = random.normal(key, (32, 2))
    y = x[:, :1] * x[:, 1:]
    schedule = optimizers.exponential_decay(0.05, decay_steps=10, decay_rate=0.9)
    start, update, get_params = optimizers.adam(schedule)
    state = start(params)
    first = float(loss(params, x, y))
    for i in range(10):
        gradient = ricci.grad(loss)(get_params(state), x, y)
        state = update(i, gradient, state)
    assert float(loss(get_params(state), x, y)) < first
