"""What NumPy computes to the very bits that XLA does: data that is moved, and simple arithmetic.

The rules are called as ``rule(*arrays, **params)``. They hold for booleans, for integers and floats
of up to 64 bits that NumPy itself has, and while no number is subnormal, which XLA takes for zero.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import DTypeLike

Rule = Callable[..., Any]


def elementwise(fun: Callable[..., Any]) -> Rule:
    """The rule of a function of arrays, for a primitive that is called without parameters."""
    return lambda *xs, **params: fun(*xs) if not any(params.values()) else NotImplemented


def divide(x: np.ndarray, y: np.ndarray, **_: Any) -> Any:
    """A quotient of floats. XLA multiplies by the reciprocal of a divisor that it repeats."""
    return np.divide(x, y) if x.dtype.kind == "f" and x.shape == y.shape else NotImplemented


def convert(x: np.ndarray, *, new_dtype: DTypeLike, **_: Any) -> Any:
    """The values in another dtype, if it is none that floats may not fit."""
    narrow = x.dtype.kind == "f" and np.dtype(new_dtype).kind in "iu"
    return NotImplemented if narrow else x.astype(new_dtype)


def broadcast_in_dim(x: np.ndarray, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    """The array repeated along new dimensions, and along those of size 1."""
    sizes = [1] * len(shape)
    for size, dim in zip(x.shape, broadcast_dimensions, strict=True):
        sizes[dim] = size
    return np.broadcast_to(x.reshape(sizes), shape)


def reshape(x: np.ndarray, *, new_sizes: Any, dimensions: Any, **_: Any) -> Any:
    """The elements in another shape."""
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


def squeeze(x: np.ndarray, *, dimensions: Any, **_: Any) -> Any:
    """The array without dimensions of size 1."""
    return x.squeeze(tuple(dimensions))


def transpose(x: np.ndarray, *, permutation: Any, **_: Any) -> Any:
    """The array with its dimensions in another order."""
    return x.transpose(permutation)


def slice_of(
    x: np.ndarray, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any
) -> Any:
    """A part of the array, at a fixed position."""
    steps = (1,) * x.ndim if strides is None else strides
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def concatenate(*xs: np.ndarray, dimension: int, **_: Any) -> Any:
    """The arrays one after the other."""
    return np.concatenate(xs, dimension)


def split(x: np.ndarray, *, sizes: Any, axis: int, **_: Any) -> Any:
    """The array's pieces along an axis."""
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def iota(*, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    """The positions along a dimension."""
    sizes = [-1 if d == dimension else 1 for d in range(len(shape))]
    counted = np.arange(shape[dimension]).reshape(sizes)
    return np.broadcast_to(counted.astype(dtype), shape)


def select(which: np.ndarray, *cases: np.ndarray, **_: Any) -> Any:
    """The elements of one of several arrays, the last of them for all larger numbers."""
    result = cases[0]
    for number, case in enumerate(cases[1:], 1):
        chosen = which if which.dtype.kind == "b" else which >= number
        result = np.where(chosen, case, result)
    return np.array(result)
