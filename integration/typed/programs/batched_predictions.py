"""Transformations in each other: vmap of jit, jit of vmap, grad of both."""

from collections.abc import Callable
from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array


def predict(weights: Array, x: Array, scale: float = 1.0) -> Array:
    return scale * np.tanh(x @ weights)


batched: Callable[[Array, Array], Array] = ricci.vmap(predict, in_axes=(None, 0))
compiled = ricci.jit(ricci.vmap(ricci.jit(predict), in_axes=(None, 0)))


def total(weights: Array, x: Array) -> Array:
    return compiled(weights, x).sum()


def main() -> None:
    weights, x = np.ones(3), np.ones((4, 3))
    assert_type(compiled(weights, x), Array)
    assert_type(ricci.vmap(predict, (None, 0))(weights, x), Array)
    assert batched(weights, x).shape == (4,)
    value, gradient = ricci.value_and_grad(total)(weights, x)
    assert_type(value, Array)
    assert gradient.shape == weights.shape
    per_example = ricci.jit(ricci.vmap(ricci.grad(predict), in_axes=(None, 0)))(weights, x)
    assert per_example.shape == (4, 3)
