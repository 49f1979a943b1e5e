"""Blocks whose inner values are computed again on the way back."""

from functools import partial
from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array


@ricci.checkpoint
def block(x: Array, weights: Array) -> Array:
    return np.sin(x @ weights)


@partial(ricci.remat, policy=ricci.checkpoint_policies.everything_saveable)
def saved(x: Array, weights: Array) -> Array:
    return np.cos(x @ weights)


def loss(weights: Array, x: Array) -> Array:
    for _ in range(3):
        x = saved(block(x, weights), weights)
    return x.sum()


def main() -> None:
    x, weights = np.ones((2, 3)), np.eye(3)
    assert_type(block(x, weights=weights), Array)
    assert ricci.grad(loss)(weights, x).shape == (3, 3)
