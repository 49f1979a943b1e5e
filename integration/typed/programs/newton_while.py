"""Loops with a condition."""

from typing import NamedTuple

import ricci
import ricci.numpy as np
from ricci import Array, lax


class Search(NamedTuple):
    x: Array
    change: Array
    steps: Array


@ricci.jit
def root(a: Array) -> Search:
    def unfinished(s: Search) -> Array:
        return (s.change > 1e-5) & (s.steps < 50)

    def improve(s: Search) -> Search:
        x = (s.x + a / s.x) / 2
        return Search(x, abs(x - s.x), s.steps + 1)

    start = Search(a, np.asarray(1.0), np.asarray(0))
    found: Search = lax.while_loop(unfinished, improve, start)
    return found


def main() -> None:
    found = root(np.asarray(2.0))
    assert abs(float(found.x) ** 2 - 2) < 1e-4
    assert int(found.steps) < 10
