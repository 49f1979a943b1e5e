"""Trains a small network: a script to profile.

python -m ricci.profile docs/examples/train_perceptron.py 200
"""

import sys

import numpy as np

import ricci
import ricci.numpy as jnp

SIZES = (64, 512, 512, 1)


def layer(weights, x):
    """A layer with its nonlinearity."""
    matrix, bias = weights
    return jnp.tanh(x @ matrix + bias)


def loss(params, x, y):
    """The mean squared error."""
    for weights in params[:-1]:
        x = layer(weights, x)
    matrix, bias = params[-1]
    return jnp.mean((x @ matrix + bias - y) ** 2)


@ricci.jit
def step(params, x, y):
    """One step of gradient descent."""
    value, grads = ricci.value_and_grad(loss)(params, x, y)
    return value, ricci.tree.map(lambda p, g: p - 0.01 * g, params, grads)


def initial(key):
    """The first parameters."""
    keys = ricci.random.split(key, len(SIZES))
    return [
        (ricci.random.normal(k, (m, n)) / np.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys, SIZES, SIZES[1:], strict=False)
    ]


def batches(count):
    """Random batches. Every tenth is smaller, so that the step is traced once more."""
    rng = np.random.default_rng(0)
    for i in range(count):
        size = 256 if i % 10 else 192
        yield rng.normal(size=(size, 64)), rng.normal(size=(size, 1))


def main(count):
    """Train, and say now and then how it goes."""
    params = initial(ricci.random.key(0))
    for i, (x, y) in enumerate(batches(count)):
        value, params = step(params, x.astype(np.float32), y.astype(np.float32))
        if i % 20 == 0:
            print(f"step {i}: loss {value:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
