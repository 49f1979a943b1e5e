"""A recurrent network over a sequence."""

from typing import NamedTuple, assert_type

import ricci
import ricci.numpy as np
from ricci import Array, lax, random


class Cell(NamedTuple):
    inner: Array
    outer: Array


def unrolled(cell: Cell, start: Array, inputs: Array) -> tuple[Array, Array]:
    def step(state: Array, x: Array) -> tuple[Array, Array]:
        state = np.tanh(state @ cell.inner + x @ cell.outer)
        return state, state

    final, states = lax.scan(step, start, inputs)
    assert_type(final, Array)
    assert_type(states, Array)
    return final, states


def main() -> None:
    a, b, c = random.split(random.key(1), 3)
    cell = Cell(random.normal(a, (4, 4)), random.normal(b, (2, 4)))
    final, states = ricci.jit(unrolled)(cell, np.zeros(4), random.normal(c, (10, 2)))
    assert final.shape == (4,)
    assert states.shape == (10, 4)
