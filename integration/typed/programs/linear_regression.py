"""Fit a line by gradient descent."""

from typing import NamedTuple, assert_type

import ricci
import ricci.numpy as np
from ricci import Array


class Line(NamedTuple):
    slope: Array
    offset: Array


def loss(line: Line, x: Array, y: Array) -> Array:
    error = line.slope * x + line.offset - y
    return (error**2).mean()


@ricci.jit
def step(line: Line, x: Array, y: Array, rate: float = 0.1) -> Line:
    gradient: Line = ricci.grad(loss)(line, x, y)
    return Line(line.slope - rate * gradient.slope, line.offset - rate * gradient.offset)


def main() -> None:
    x = np.linspace(-1.0, 1.0, 20)
    line = Line(np.asarray(0.0), np.asarray(0.0))
    for _ in range(200):
        line = step(line, x, 3.0 * x + 1.0, rate=0.3)
    assert_type(line, Line)
    assert abs(float(line.slope) - 3.0) < 1e-2
    assert abs(float(line.offset) - 1.0) < 1e-2
