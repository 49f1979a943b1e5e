"""Reading by index, and updated copies."""

from typing import assert_type

import ricci.numpy as np
from ricci import Array


def board(size: int) -> Array:
    x = np.zeros((size, size))
    x = x.at[0].set(1.0)
    x = x.at[:, -1].add(np.arange(float(size)))
    x = x.at[np.arange(size), np.arange(size)].multiply(2)
    x = x.at[1:3, ...].max(0.5)
    return x.at[0, 0].apply(np.exp)


def main() -> None:
    x = board(4)
    assert_type(x, Array)
    assert_type(x[0], Array)
    assert_type(x[1:, None, ::2], Array)
    assert_type(x[x > 0], Array)
    assert_type(x[[0, 2], [[1], [3]]], Array)
    assert_type(x.at[9].get(mode="fill", fill_value=0.0), Array)
    rows = [row.sum() for row in x]
    assert_type(rows, list[Array])
    first, *others = x
    assert_type(first, Array)
    assert len(others) == 3
