"""Operators, properties and methods."""

from typing import Any, assert_type

import numpy

import ricci.numpy as np
from ricci import Array


def main() -> None:
    x: Array = np.arange(6.0)
    methods(x.reshape(2, 3))


def methods(x: Array) -> None:
    y = x.reshape((3, -1))
    assert_type(x @ y + 1, Array)
    assert_type(2**x - 1.5, Array)
    assert_type(-abs(x) // 2 % 3, Array)
    assert_type(x == y.T, Array)
    assert_type((x > 1) & ~(x >= 4), Array)
    assert_type(divmod(x, 2), tuple[Array, Array])
    assert_type(round(x, 1), Array)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.dtype, numpy.dtype[Any])
    assert_type((x.ndim, x.size, x.nbytes, x.itemsize), tuple[int, int, int, int])
    assert_type(x.weak_type, bool)
    assert_type(x.mT.real, Array)
    assert_type(x.sum(), Array)
    assert_type(x.mean(axis=(0, 1), keepdims=True), Array)
    assert_type(x.std(ddof=1), Array)
    assert_type(x.astype("int32").astype(np.float16), Array)
    assert_type(x.argmax(0).min(), Array)
    assert_type(x.transpose(1, 0).squeeze().ravel(), Array)
    assert_type(x.nonzero(), tuple[Array, ...])
    assert_type(x.block_until_ready().copy(), Array)
    assert_type((float(x[0, 0]), int(x[0, 1]), bool(x[0, 2])), tuple[float, int, bool])
    assert_type(len(x), int)
    assert [10, 20, 30][x[0, 1].astype(int)] == 20
