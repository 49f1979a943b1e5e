"""Pad arguments and crop results on the host, without compiling for each length."""

from collections.abc import Mapping, Sequence

import numpy as np

from ricci_ir import Array
from ricci_lax import slice as lax_slice
from ricci_xla import device_put

from ._dynamic_moves import take

__all__ = ["padding"]


class Padding:
    """The fill values of padding.

    Attributes:
      extreme: fill with NaN and the greatest integers in place of zeros. Results are the same, as
        no padding reaches them, which tests check.
    """

    def __init__(self):
        self.extreme: bool = False

    def fill(self, dtype: np.dtype) -> float:
        """The fill value of an array's padding."""
        if not self.extreme:
            return 0
        if dtype.kind == "b":
            return True
        if np.issubdtype(dtype, np.integer):
            return np.iinfo(dtype).max
        return np.nan


padding: Padding = Padding()


def pad_to(x: Array, sizes: Mapping[int, int]) -> Array | np.ndarray:
    """Pad an array on the host to larger sizes along some axes."""
    if not isinstance(getattr(x, "dtype", np.dtype(float)), np.dtype):  # random keys
        for axis, size in sizes.items():
            positions = np.minimum(np.arange(size, dtype=np.int32), np.int32(x.shape[axis] - 1))
            x = take(x, positions, axis)
        return x
    array = np.asarray(x)
    shape = [sizes.get(axis, n) for axis, n in enumerate(array.shape)]
    result = np.full(shape, padding.fill(array.dtype), array.dtype)
    result[tuple(slice(n) for n in array.shape)] = array
    return result


def crop(x: Array, shape: Sequence[int]) -> Array | np.ndarray:
    """The first elements of an array along each axis."""
    if tuple(shape) == x.shape:
        return x
    if not isinstance(x.dtype, np.dtype):
        return lax_slice(x, [0] * x.ndim, shape)
    part = tuple(slice(n) for n in shape)
    return device_put(np.ascontiguousarray(np.asarray(x)[part]))
