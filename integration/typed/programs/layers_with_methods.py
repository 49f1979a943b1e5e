"""Classes with jitted methods, and a protocol that they satisfy."""

from typing import Protocol, assert_type

import ricci
import ricci.numpy as np
from ricci import Array, random


class Model(Protocol):
    def __call__(self, x: Array) -> Array: ...


class Dense:
    def __init__(self, key: Array, inputs: int, outputs: int) -> None:
        self.weights = random.normal(key, (inputs, outputs))

    def __call__(self, x: Array) -> Array:
        return x @ self.weights

    @ricci.jit
    def scaled(self, x: Array, factor: float) -> Array:
        return factor * self(x)

    @ricci.checkpoint
    def saved(self, x: Array) -> Array:
        return np.sin(self(x))


ricci.tree_util.register_pytree_node(
    Dense, lambda d: ((d.weights,), None), lambda _, children: _rebuilt(children[0])
)


def _rebuilt(weights: Array) -> Dense:
    dense = object.__new__(Dense)
    dense.weights = weights
    return dense


def apply_twice(model: Model, x: Array) -> Array:
    return model(model(x))


def main() -> None:
    dense = Dense(random.key(0), 3, 3)
    x = np.ones(3)
    assert_type(dense.scaled(x, 2.0), Array)
    assert apply_twice(dense, x).shape == (3,)
    assert apply_twice(dense.saved, x).shape == (3,)
    assert apply_twice(ricci.jit(dense), x).shape == (3,)
