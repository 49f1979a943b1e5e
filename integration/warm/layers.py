"""A module that the functions of ``program.py`` read: copied, and edited, by the tests."""

import ricci.numpy as jnp

SHIFT = 0.5
WEIGHTS = {"first": 1.0}


class Layer:
    gain = 1.0

    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return jnp.tanh(x) * self.gain + self.size


def activate(x):
    return x * x + SHIFT
