"""Windows of traced size, for copies: ``ref.at[ds(start, count)]``.

Arrays have static shapes, so that the part at such a window is an array of a static bound of the
count, whose first elements are those of the window. Writing the part writes these alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ricci_ir import Array, ArrayLike
from ricci_lax.elementwise import add, clamp, convert_element_type, lt, select_n, sub
from ricci_lax.elementwise._comparison import ge
from ricci_lax.shapes import concatenate, dynamic_slice, dynamic_update_slice
from ricci_lax.structure import broadcast_in_dim, broadcasted_iota, expand_dims, squeeze

from ._forms import ONE, SPAN, WINDOW, Form, Part, split_operands
from ._views import whole_view


def is_spanning(form: Sequence[Part]) -> bool:
    """Whether an index has a window of traced size."""
    return any(part.kind == SPAN for part in form)


def _windows(
    form: Form, shape: tuple[int, ...], operands: Sequence[ArrayLike]
) -> tuple[list[Any], dict[int, tuple[Any, Any]]]:
    """The starts of the windows to slice, and for each span its shift in its window and count.

    A span near the end has a bound past it. Its window is moved to the inside, and the span begins
    later in the window.
    """
    remaining = iter(operands)
    starts: list[Any] = []
    spans = {}
    for axis, (part, size) in enumerate(zip(form, shape, strict=True)):
        start: Any = part.start
        if start is None:
            start = convert_element_type(next(remaining), np.int32)
        elif start < 0:
            start += size
        if part.kind == SPAN:
            last = np.int32(size - part.size)
            first = np.int32(min(max(start, 0), last)) if isinstance(start, int) else None
            moved = clamp(np.int32(0), start, last) if first is None else first
            shift = sub(start, moved) if first is None else int(start) - int(first)
            spans[axis] = shift, convert_element_type(next(remaining), np.int32)
            start = moved
        starts.append(np.int32(start) if isinstance(start, int) else start)
    return starts, spans


def _rolled(x: Array, axis: int, shift: Array | int) -> Array:
    """An array whose first element along an axis is the one at ``shift``, modulo its size."""
    size = x.shape[axis]
    if not size or isinstance(shift, int) and not shift % size:
        return x
    starts: list[Any] = [np.int32(0)] * x.ndim
    starts[axis] = np.int32(shift % size) if isinstance(shift, int) else shift
    return dynamic_slice(concatenate([x, x], axis), starts, x.shape)


def read_span(x: Array, form: Form, operands: Sequence[ArrayLike]) -> Array:
    """The part of an array at an index with windows of traced size."""
    starts, spans = _windows(form, x.shape, operands)
    part = dynamic_slice(x, starts, [part.size for part in form])
    for axis, (shift, _) in spans.items():
        part = _rolled(part, axis, shift)
    singles = _singles(form)
    return squeeze(part, singles) if singles else part


def written_span(x: Array, form: Form, operands: Sequence[ArrayLike], value: Array) -> Array:
    """The array with the elements of windows of traced size replaced."""
    if 0 in (part.size for part in form):
        return x
    starts, spans = _windows(form, x.shape, operands)
    singles = _singles(form)
    update = expand_dims(value, singles) if singles else value
    is_written: Any = None
    for axis, (shift, count) in spans.items():
        size = form[axis].size
        back = -shift if isinstance(shift, int) else sub(np.int32(size), shift)
        update = _rolled(update, axis, back)
        position = broadcasted_iota(np.int32, update.shape, axis)
        first = np.int32(shift) if isinstance(shift, int) else shift
        bounds = [broadcast_in_dim(n, update.shape, ()) for n in (first, add(first, count))]
        inside = ge(position, bounds[0]) & lt(position, bounds[1])
        is_written = inside if is_written is None else is_written & inside
    old = dynamic_slice(x, starts, update.shape)
    return dynamic_update_slice(x, select_n(is_written, old, update), starts)


def _singles(form: Form) -> tuple[int, ...]:
    return tuple(i for i, part in enumerate(form) if part.kind == ONE)


# The sizes of views


def traced_shape(
    shape: Sequence[int], forms: Sequence[Form], operands: Sequence[ArrayLike]
) -> tuple[Any, ...]:
    """The shape of the part at several indices, with the counts of windows of traced size.

    Args:
      shape: the shape of the reference.
      forms: the indices, which have no arrays of positions.
      operands: their operands.
    """
    sizes: tuple[Any, ...] = tuple(shape)
    bounds = tuple(shape)
    for form, positions in zip(forms, split_operands(forms, operands), strict=True):
        view = whole_view(form)
        if view is not None:
            sizes = bounds = view.shape_of(bounds)
            continue
        counts = dict(traced_counts(form, positions))
        # A window over a whole dimension of traced size leaves its size.
        sizes = tuple(
            [
                old if part == (WINDOW, 0, bound, 1) else counts.get(axis, part.size)
                for axis, (part, old, bound) in enumerate(zip(form, sizes, bounds, strict=True))
                if part.kind != ONE
            ]
        )
        bounds = tuple([part.size for part in form if part.kind != ONE])
    return sizes


def traced_counts(form: Form, operands: Sequence[ArrayLike]) -> Iterator[tuple[int, ArrayLike]]:
    """The dimensions with windows of traced size, and the sizes."""
    remaining = iter(operands)
    for axis, part in enumerate(form):
        if part.start is None:
            next(remaining)
        if part.kind == SPAN:
            yield axis, next(remaining)


def bounded_forms(forms: Sequence[Form], bounds: Sequence[int | None]) -> tuple[Form, ...]:
    """The indices of a view with lower bounds of its traced sizes.

    Args:
      forms: the indices.
      bounds: for each dimension of the view the bound, or None where its size is static.
    """
    bounded: list[Form] = []
    for form in reversed(forms):
        if whole_view(form) is not None or all(bound is None for bound in bounds):
            return (*forms[: len(forms) - len(bounded)], *reversed(bounded))
        remaining = iter(bounds)
        parts: list[Part] = []
        outer: list[int | None] = []
        for part in form:
            bound = None if part.kind == ONE else next(remaining)
            parts.append(part if bound is None else part._replace(size=bound))
            # A window over a whole dimension of traced size passes its bound on.
            outer.append(bound if part.kind == WINDOW else None)
        bounded.append(tuple(parts))
        bounds = outer
    return tuple(reversed(bounded))
