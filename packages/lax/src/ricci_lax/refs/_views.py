"""Views of a whole reference in another shape or dtype, among the indices of a view.

Such a view is an index whose only part says how to read the value from that of the reference, and
how to write it back. It has no operands.
"""

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import Array
from ricci_lax.elementwise import (
    bitcast_convert_type,
    bitwise_or,
    convert_element_type,
    shift_left,
    shift_right_logical,
)
from ricci_lax.shapes import concatenate, index_in_dim
from ricci_lax.structure import expand_dims, reshape


class Reshape(ir.TupleRecord):
    """A view of another shape.

    Attributes:
      shape: the shape.
    """

    shape: tuple[int, ...]

    @property
    def kind(self) -> str:
        """The kind of the part of an index."""
        return "reshape"

    @property
    def start(self) -> int:
        """A number, since the view has no operand."""
        return 0

    def read(self, x: Array) -> Array:
        """The value of the view."""
        return reshape(x, self.shape)

    def written(self, x: Array, value: Array) -> Array:
        """The value of the reference, for one of the view."""
        return reshape(value, x.shape)

    def shape_of(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the view."""
        return self.shape

    def __repr__(self) -> str:
        return f"reshape({list(self.shape)})"


class Bitcast(ir.TupleRecord):
    """A view of the bits as another dtype; the last dimension but one changes with the width.

    Attributes:
      dtype: the dtype of the view.
      ratio: the width of an element of the reference over that of one of the view: elements of a
        column are split into so many, or, if it is a fraction, joined.
    """

    dtype: np.dtype
    ratio: float

    @property
    def kind(self) -> str:
        """The kind of the part of an index."""
        return "bitcast"

    @property
    def start(self) -> int:
        """A number, since the view has no operand."""
        return 0

    def read(self, x: Array) -> Array:
        """The value of the view."""
        return recast(x, self.dtype)

    def written(self, x: Array, value: Array) -> Array:
        """The value of the reference, for one of the view."""
        return recast(value, x.dtype)

    def shape_of(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the view."""
        if self.ratio == 1:
            return tuple(shape)
        return (*shape[:-2], int(shape[-2] * self.ratio), shape[-1])

    def __repr__(self) -> str:
        return f"bitcast({self.dtype})"


# A form is one of these alone in a tuple.
WholeView = Reshape | Bitcast


def whole_view(form: tuple[Any, ...]) -> WholeView | None:
    """The view of the whole that an index is, or None for other indices."""
    return form[0] if len(form) == 1 and isinstance(form[0], WholeView) else None


def recast(x: Array, dtype: np.dtype) -> Array:
    """Reinterpret the bits of an array; wider elements hold consecutive ones of a column."""
    old, new = ir.itemsize_bits(x.dtype), ir.itemsize_bits(dtype)
    if old == new:
        return bitcast_convert_type(x, dtype)
    *outer, rows, columns = x.shape
    words = bitcast_convert_type(x, _word(old))
    # XLA for CPUs neither shifts nor concatenates words of fewer bits than a byte.
    if old < 8:
        words = convert_element_type(words, np.uint8)
    carrier = _word(builtins.max(new, 8))
    # Parts are shifted, not moved from the last dimension of a conversion of types: XLA for CPUs
    # folds the transposition into products, of which some types then have no kernel.
    if old > new:
        parts = [
            expand_dims(convert_element_type(_shifted(words, -new * i), carrier), (-2,))
            for i in range(old // new)
        ]
        split = reshape(concatenate(parts, x.ndim - 1), (*outer, rows * (old // new), columns))
        return bitcast_convert_type(convert_element_type(split, _word(new)), dtype)
    count = new // old
    grouped = convert_element_type(reshape(words, (*outer, rows // count, count, columns)), carrier)
    joined = index_in_dim(grouped, 0, -2, keepdims=False)
    for i in range(1, count):
        part = index_in_dim(grouped, i, -2, keepdims=False)
        joined = bitwise_or(joined, _shifted(part, old * i))
    return bitcast_convert_type(convert_element_type(joined, _word(new)), dtype)


def _word(bits: int) -> np.dtype:
    """The unsigned integers of a number of bits."""
    return np.dtype(f"uint{bits}")


def _shifted(x: Array, bits: int) -> Array:
    """Unsigned integers shifted to the left, or for a negative number to the right."""
    if not bits:
        return x
    shift = shift_left if bits > 0 else shift_right_logical
    return shift(x, np.asarray(builtins.abs(bits), x.dtype))


def reshape_of(shape: tuple[int, ...], sizes: Sequence[int | Sequence[int]]) -> Reshape:
    """The view of a reference in another shape.

    Args:
      shape: the shape of the reference.
      sizes: the shape of the view, or a tuple of it alone; one size may be -1.

    Raises:
      ValueError: if the number of elements is another.
    """
    flat = [n for size in sizes for n in (size if isinstance(size, Sequence) else [size])]
    static = prod(n for n in flat if n != -1)
    whole = tuple(prod(shape) // max(static, 1) if n == -1 else n for n in flat)
    if prod(whole) != prod(shape) or flat.count(-1) > 1:
        raise ValueError(
            f"a reference of shape {shape} has {prod(shape)} elements, and cannot be viewed in the "
            f"shape {tuple(flat)}. Give sizes whose product is that."
        )
    return Reshape(whole)


def bitcast_of(shape: tuple[int, ...], old: np.dtype, dtype: ir.DTypeLike) -> Bitcast:
    """The view of a reference's bits as another dtype.

    Args:
      shape, old: the shape and dtype of the reference.
      dtype: the dtype of the view.

    Raises:
      ValueError: if the widths differ and the reference has fewer than two dimensions, or a column
        is not divisible.
    """
    new = np.dtype(ir.canonicalize_dtype(dtype))
    ratio = ir.itemsize_bits(old) / ir.itemsize_bits(new)
    if ratio != 1 and len(shape) < 2:
        raise ValueError(
            f"a reference of shape {shape} is viewed as {new}, whose width is another than that of "
            f"{old}: elements of columns are joined or split, and it needs two dimensions."
        )
    if ratio < 1 and shape[-2] % int(1 / ratio):
        raise ValueError(
            f"a reference of shape {shape} is viewed as {new}, which joins {int(1 / ratio)} rows "
            f"of {old}, but has {shape[-2]}. Pad it to a multiple."
        )
    return Bitcast(new, ratio)
