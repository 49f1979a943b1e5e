"""Addresses of the elements of references, and the masks of those that are out of bounds."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.primitives._accesses import VIEW_KINDS

from ._rules import Dim, Reference
from ._writer import Value, Writer, element_of


class _Positions(ir.TupleRecord):
    """The positions that an index selects along a dimension of a reference.

    They are ``static + dynamic + step * k`` for ``k`` below ``size``, or for the elements ``k`` of
    an array.

    Attributes:
      dim: the dimension.
      static: the static part of the first position.
      dynamic: the other part, a scalar, or ``None``.
      size: the number of positions; ``None`` for one, which is not a dimension of the result.
      step: the distance between them.
      array: an array of positions, or ``None``.
    """

    dim: Dim
    static: int = 0
    dynamic: Value | None = None
    size: int | None = None
    step: int = 1
    array: Value | None = None


class Addresses(ir.TupleRecord):
    """The addresses of the elements of a part of a reference.

    Attributes:
      pointers: their addresses: a tensor of pointers, or a pointer.
      inside: which are inside of the array, or ``None`` if all are.
      shape: of the part.
    """

    pointers: Value
    inside: Value | None
    shape: tuple[int, ...]


def pointer_element(dtype: np.dtype) -> str:
    """The type of a pointer to elements of a dtype; bools are bytes in memory."""
    element = element_of(dtype)
    return f"!tt.ptr<{'i8' if element == 'i1' else element}>"


def addresses(
    writer: Writer, ref: Reference, transforms: Sequence[Any], operands: Sequence[Value]
) -> Addresses:
    """The addresses of the part of a reference at some indices.

    Args:
      writer: where to append operations.
      ref: the reference.
      transforms: the forms of the indices, one after the other.
      operands: the positions that are operands.
    """
    selected = [_Positions(dim, size=dim.size) for dim in ref.dims]
    remaining = list(operands)
    for form in transforms:
        selected = _indexed(writer, ref, selected, form, remaining)
    return _located(writer, ref, selected)


def _indexed(
    writer: Writer,
    ref: Reference,
    selected: list[_Positions],
    form: Sequence[Any],
    operands: list[Value],
) -> list[_Positions]:
    """Positions that are indexed once more; takes its operands from the front of ``operands``."""
    if form and form[0].kind in VIEW_KINDS:
        raise NotImplementedError(
            f"views a reference by ref.{form[0]}; read the part first, and reshape the value"
        )
    parts = iter(form)
    result = []
    for positions in selected:
        if positions.size is None:
            if positions.array is not None and len(form):
                raise NotImplementedError(
                    "indexes a view by positions in an array once more; write one index"
                )
            result.append(positions)
            continue
        part = next(parts, None)
        if part is None:
            result.append(positions)
            continue
        operand = operands.pop(0) if part.start is None else None
        if operand is not None:
            operand = writer.resized(operand, ref.integer)
        # An index into a view: its positions are multiples of the view's step, behind the view's
        # start.
        step = positions.step
        scaled = None if operand is None else writer.scaled(operand, step)
        if part.kind == "array":
            result.append(positions._replace(array=scaled, size=None))
            continue
        start = part.start or 0
        start += positions.size if start < 0 else 0
        dynamic = positions.dynamic
        if scaled is not None:
            dynamic = scaled if dynamic is None else writer.add(dynamic, scaled)
        is_window = part.kind == "window"
        result.append(
            positions._replace(
                static=positions.static + start * step,
                dynamic=dynamic,
                size=part.size if is_window else None,
                step=step * part.step if is_window else 1,
            )
        )
    return result


def _located(writer: Writer, ref: Reference, selected: Sequence[_Positions]) -> Addresses:
    """The addresses of positions, by the order of dimensions of NumPy's indexing."""
    windows = [i for i, p in enumerate(selected) if p.size is not None]
    arrays = [i for i, p in enumerate(selected) if p.array is not None]
    common: tuple[int, ...] = ()
    place = 0
    if arrays:
        shapes = [selected[i].array.shape for i in arrays]  # pyright: ignore
        common = np.broadcast_shapes(*shapes)
        chosen = [i for i, p in enumerate(selected) if p.size is None]
        # As in NumPy, the dimensions of index arrays come first unless the arrays are adjacent.
        if chosen == list(range(chosen[0], chosen[-1] + 1)):
            place = len([i for i in windows if i < chosen[0]])
    sizes = [selected[i].size or 0 for i in windows]
    shape = (*sizes[:place], *common, *sizes[place:])
    array_axes = range(place, place + len(common))
    window_axes = [k if k < place else k + len(common) for k in range(len(windows))]

    # Scalars are added to the pointer before it is spread, so that the arithmetic of tensors is on
    # offsets only.
    first: Value | None = None  # the part of the offset that all elements share
    offsets: Value | None = None
    inside: Value | None = None
    for i, p in enumerate(selected):
        scalar = _scalar(writer, ref, p)
        tensor: Value | None = None
        if p.array is not None:
            axes = list(array_axes)[len(common) - len(p.array.shape) :]
            tensor = writer.expanded(p.array, shape, axes)
        elif p.size is not None:
            axis = window_axes[windows.index(i)]
            steps = writer.positions(p.size, ref.integer)
            tensor = _column(writer, writer.scaled(steps, p.step), shape, axis)
        if scalar is not None:
            part = writer.scaled(scalar, p.dim.stride)
            first = part if first is None else writer.add(first, part)
        if tensor is not None:
            part = writer.spread(writer.scaled(tensor, p.dim.stride), shape)
            offsets = part if offsets is None else writer.add(offsets, part)
        inside = _both(writer, inside, _bounds(writer, ref, p, scalar, tensor, shape))
    pointer = ref.pointer
    if first is not None:
        pointer = writer.op("tt.addptr", [pointer, first], (), pointer.element)
    if offsets is not None:
        pointer = writer.spread(pointer, shape)
        pointer = writer.op("tt.addptr", [pointer, offsets], shape, pointer.element)
    return Addresses(pointer, inside, shape)


def _column(writer: Writer, x: Value, shape: tuple[int, ...], axis: int) -> Value:
    """A vector along an axis, with dimensions of one element for the others."""
    ones = [1] * len(shape)
    ones[axis] = x.shape[0]
    return writer.expanded(x, tuple(ones), (axis,))


def _scalar(writer: Writer, ref: Reference, p: _Positions) -> Value | None:
    """The first position, in the block; ``None`` for 0."""
    if p.static == 0:
        return p.dynamic
    static = writer.constant(p.static, ref.integer)
    return static if p.dynamic is None else writer.add(p.dynamic, static)


def _bounds(
    writer: Writer,
    ref: Reference,
    p: _Positions,
    scalar: Value | None,
    tensor: Value | None,
    shape: tuple[int, ...],
) -> Value | None:
    """Whether positions are in the array, along a dimension whose blocks may reach over its end."""
    if p.dim.length is None:
        return None
    position = tensor
    for part in (scalar, p.dim.start):
        if part is not None and position is not None:
            position = writer.add(position, writer.spread(part, position.shape))
        elif part is not None:
            position = part
    if position is None:
        return None
    # MLIR's predicates: 2 is signed less, 5 signed greater or equal.
    inside = writer.compare(2, position, writer.like(position, p.dim.length))
    if p.dim.below:
        inside = _both(writer, inside, writer.compare(5, position, writer.like(position, 0)))
    return None if inside is None else writer.spread(inside, shape)


def _both(writer: Writer, x: Value | None, y: Value | None) -> Value | None:
    """Whether two conditions hold, each of which may be absent."""
    if x is None or y is None:
        return y if x is None else x
    return writer.binary("arith.andi", x, y)


def strides_of(shape: Sequence[int]) -> list[int]:
    """The distance in memory between neighbours along each dimension, in elements."""
    return [prod(shape[i + 1 :]) for i in range(len(shape))]
