"""Rules for operations that NumPy computes with the same bits as XLA: moves and simple arithmetic.

A rule is called as ``rule(*arrays, **params)``; it returns ``NotImplemented`` where the bits may
differ. The rules hold for NumPy's own booleans, integers and floats of up to 64 bits, as long as no
number is subnormal: XLA flushes subnormal numbers to zero.
"""

from collections.abc import Callable, Sequence
from types import NotImplementedType
from typing import Any

import numpy as np

from ricci_ir import DTypeLike, Shape

Result = np.ndarray | np.generic | NotImplementedType
Rule = Callable[..., Result]


def elementwise(fun: Callable[..., Any]) -> Rule:
    """The rule of a function of arrays, for a primitive that is called without parameters."""
    return lambda *xs, **params: fun(*xs) if not any(params.values()) else NotImplemented


def divide(x: np.ndarray, y: np.ndarray, **_: object) -> Result:
    """A quotient of floats of one shape; XLA turns a broadcast divisor into its reciprocal."""
    return np.divide(x, y) if x.dtype.kind == "f" and x.shape == y.shape else NotImplemented


def convert(x: np.ndarray, *, new_dtype: DTypeLike, **_: object) -> Result:
    """The values in another dtype; not floats to integers, which may overflow."""
    narrow = x.dtype.kind == "f" and np.dtype(new_dtype).kind in "iu"
    return NotImplemented if narrow else x.astype(new_dtype)


def broadcast_in_dim(
    x: np.ndarray, *, shape: Shape, broadcast_dimensions: Sequence[int], **_: object
) -> np.ndarray:
    """The array repeated along new dimensions, and along those of size 1."""
    sizes = [1] * len(shape)
    for size, dim in zip(x.shape, broadcast_dimensions, strict=True):
        sizes[dim] = size
    return np.broadcast_to(x.reshape(sizes), shape)


def reshape(
    x: np.ndarray, *, new_sizes: Shape, dimensions: Sequence[int] | None, **_: object
) -> np.ndarray:
    """The elements in another shape."""
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


def squeeze(x: np.ndarray, *, dimensions: Sequence[int], **_: object) -> np.ndarray:
    """The array without dimensions of size 1."""
    return x.squeeze(tuple(dimensions))


def transpose(x: np.ndarray, *, permutation: Sequence[int], **_: object) -> np.ndarray:
    """The array with its dimensions in another order."""
    return x.transpose(permutation)


def slice_of(
    x: np.ndarray,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
    **_: object,
) -> np.ndarray:
    """A part of the array, at a fixed position."""
    steps = (1,) * x.ndim if strides is None else strides
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def concatenate(*xs: np.ndarray, dimension: int, **_: object) -> np.ndarray:
    """The arrays one after the other."""
    return np.concatenate(xs, dimension)


def split(x: np.ndarray, *, sizes: Sequence[int], axis: int, **_: object) -> list[np.ndarray]:
    """The array's pieces along an axis."""
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def empty(*, dtype: DTypeLike, shape: Shape, **_: object) -> np.ndarray:
    """Zeros."""
    return np.zeros(shape, dtype)


def iota(*, dtype: DTypeLike, shape: Shape, dimension: int, **_: object) -> np.ndarray:
    """The positions along a dimension."""
    sizes = [-1 if d == dimension else 1 for d in range(len(shape))]
    counted = np.arange(shape[dimension]).reshape(sizes)
    return np.broadcast_to(counted.astype(dtype), shape)


def select(which: np.ndarray, *cases: np.ndarray, **_: object) -> np.ndarray:
    """Each element from one of several arrays; numbers that are too large choose the last one."""
    result = cases[0]
    for number, case in enumerate(cases[1:], 1):
        chosen = which if which.dtype.kind == "b" else which >= number
        result = np.where(chosen, case, result)
    return np.array(result)
