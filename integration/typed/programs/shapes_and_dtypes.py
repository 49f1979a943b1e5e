"""Functions that take dtypes and shapes of all kinds."""

from collections.abc import Sequence

import numpy

import ricci.numpy as np
from ricci import Array
from ricci.typing import DTypeLike


def filled(shape: Sequence[int], value: float, dtype: DTypeLike = float) -> Array:
    return np.full(tuple(shape), value, dtype)


def stacked(arrays: Sequence[Array], axis: int = 0) -> Array:
    result: Array = np.stack(list(arrays), axis)
    return result


def main() -> None:
    dtypes: list[DTypeLike] = ["float32", numpy.int32, np.bfloat16, bool, numpy.dtype("int8")]
    shapes = {filled((2, 3), 1, dtype).shape for dtype in dtypes}
    assert shapes == {(2, 3)}
    rows, columns = filled([2, 3], 0.5).shape
    assert stacked([np.zeros(rows)] * columns).shape == (columns, rows)
