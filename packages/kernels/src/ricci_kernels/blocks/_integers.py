"""Sizes of blocks: divisions and multiples."""

from math import prod
from typing import Any

import ricci_ir as ir
from ricci_lax.authoring import Window as Slice
from ricci_numpy.authoring import ds as _ds

__all__ = [
    "Slice",
    "align_to",
    "cdiv",
    "ds",
    "dslice",
    "multiple_of",
    "next_power_of_2",
    "strides_from_shape",
]


def ds(start: Any, size: Any = None, stride: int | None = None) -> slice | Slice:
    """An index for ``size`` elements from ``start``, which may be traced.

    Args:
      start: an int or an integer array of rank 0. Without ``size``, the number of elements, from
        the first on; ``None`` for all.
      size: a Python int; traced for parts that are copied, as by ``make_async_copy``, and for the
        index of a ``BoundedSlice``.
      stride: the distance between elements; 0 repeats one of them, to be read.

    Returns:
      An index or a part of one: ``ref[ds(i, 3)]``.

    Raises:
      ValueError: if the stride is negative.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.ds(1, 2).size
      2
    """
    if isinstance(stride, int) and stride < 0:
        raise ValueError(
            f"ds: the stride must not be negative, got {stride} for ds({start}, {size}). Read the "
            "elements in their order, and reverse the array: ref[...][::-1]."
        )
    if isinstance(size, ir.Tracer):
        return Slice(start, size, 1 if stride is None else stride)  # pyright: ignore
    return _ds(start, size, stride)


dslice = ds


def cdiv(a: Any, b: Any) -> Any:
    """The quotient of two integers, rounded up.

    Args:
      a: an int or an integer array: how much there is.
      b: an int or an integer array: the size of a part.

    Returns:
      An int, or an integer array.

    Example:
      >>> from ricci.experimental.pallas import cdiv
      >>> cdiv(7, 2)
      4
    """
    return (a + (b - 1)) // b


def align_to(a: Any, alignment: Any) -> Any:
    """The least multiple of a number that is not less than another.

    Args:
      a: an int or an integer array.
      alignment: the number of which the result is a multiple.

    Returns:
      An int, or an integer array.

    Example:
      >>> from ricci.experimental.pallas import align_to
      >>> align_to(5, 4)
      8
    """
    return cdiv(a, alignment) * alignment


def next_power_of_2(x: int) -> int:
    """The least power of 2 that is not less than a number.

    Args:
      x: the number.

    Returns:
      An int.

    Raises:
      ValueError: if the number is negative.

    Example:
      >>> from ricci.experimental.pallas import next_power_of_2
      >>> [next_power_of_2(x) for x in (0, 1, 5, 8)]
      [1, 1, 8, 8]
    """
    if x < 0:
        raise ValueError("`next_power_of_2` requires a non-negative integer.")
    return 1 if x == 0 else 1 << (x - 1).bit_length()


def strides_from_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The distance in memory between neighbours along each dimension, in elements.

    Args:
      shape: the shape of an array.

    Returns:
      An int for each dimension.

    Example:
      >>> from ricci.experimental.pallas import strides_from_shape
      >>> strides_from_shape((2, 3, 4))
      (12, 4, 1)
    """
    return tuple([prod(shape[i + 1 :]) for i in range(len(shape))])


def multiple_of(x: Any, values: Any) -> Any:
    """Declare that an index is a multiple of some numbers, for the compiler.

    Args:
      x: the index, or an array of them.
      values: the numbers; not checked.

    Returns:
      ``x``.

    Example:
      >>> from ricci.experimental.pallas import multiple_of
      >>> multiple_of(16, 8)
      16
    """
    del values
    return x
