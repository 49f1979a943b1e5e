"""Indices of references, read into forms and operands; the parts of arrays that they select."""

from collections.abc import Sequence
from operator import index as as_int
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, ArrayLike, ShapedArray, Tracer
from ricci_lax.elementwise._conversion import convert_element_type, converted
from ricci_lax.elementwise._linear import add
from ricci_lax.shapes import dynamic_slice, dynamic_update_slice
from ricci_lax.shapes import slice as static_slice
from ricci_lax.structure import broadcast_in_dim, expand_dims, squeeze

from ._forms import ARRAY, ONE, SPAN, WINDOW, Form, Part, Window
from ._spans import is_spanning, read_span, written_span
from ._views import whole_view


def read_index(shape: tuple[int, ...], index: Any) -> tuple[Form, list[ArrayLike]]:
    """Split an index into its form and its operands.

    Args:
      shape: the shape of the indexed array.
      index: integers, slices with a step of at least 1, ``...``, arrays of integers, and windows
        (``ds``), or a tuple of these.

    Raises:
      ValueError: if there are too many parts, an integer is past the end, or a slice goes
        backwards.
      TypeError: if a part is none of these.
      NonConcreteBooleanIndexError: if a part is a mask.
    """
    parts = list(index) if type(index) is tuple else [index]
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise ValueError("the index of a reference holds two ellipses (...). Keep one.")
    count = len(parts) - len(dots)
    if count > len(shape):
        raise ValueError(
            f"the index of a reference has {count} parts, but its shape is {shape}: give at most "
            "one for each dimension."
        )
    whole = [slice(None)] * (len(shape) - count)
    place = dots[0] if dots else len(parts)
    parts[place : place + 1] = whole
    form: list[Part] = []
    operands: list[ArrayLike] = []
    for axis, (part, size) in enumerate(zip(parts, shape, strict=True)):
        form.append(_read_part(part, size, axis, operands))
    if is_spanning(form) and _has_arrays(form):
        raise NotImplementedError(
            "a reference is indexed with a slice of traced size and an array of positions. Copy "
            "each position in a loop."
        )
    return tuple(form), operands


def _read_part(part: Any, size: int, axis: int, operands: list[ArrayLike]) -> Part:
    if isinstance(part, slice):
        return _read_slice(part, size, axis)
    if isinstance(part, Window):
        return _read_window(part, size, axis, operands)
    if isinstance(part, list | tuple):
        part = np.asarray(part)
    if isinstance(part, np.ndarray) and not part.shape:
        part = part[()]
    if isinstance(part, bool | np.bool_ | float | complex | str | None):
        raise TypeError(
            f"dimension {axis} of a reference is indexed with {part!r} of type "
            f"{type(part).__name__}; an index is an integer, a slice, `...`, or an array of "
            "integers. Read the array first for others: ref[...][index]."
        )
    if isinstance(part, int | np.integer):
        return Part(ONE, _checked(int(part), size, axis))
    if hasattr(type(part), "aval") or isinstance(part, np.ndarray):
        aval: Any = ir.get_aval(part)
        if aval.dtype == np.bool_:
            raise ir.NonConcreteBooleanIndexError(_described(part, aval))
        if not ir.issubdtype(aval.dtype, np.integer):
            raise TypeError(
                f"dimension {axis} of a reference is indexed with an array of type "
                f"{aval.str_short()}; positions are integers. Convert it with astype(int)."
            )
        operands.append(part)
        if aval.shape:
            return Part(ARRAY)
        if not isinstance(part, Tracer):
            _checked(int(part), size, axis)
        return Part(ONE)
    return Part(ONE, _checked(as_int(part), size, axis))


class _described:
    """The description of a tracer's array, for an error message."""

    def __init__(self, value: object, aval: ShapedArray):
        self.aval = aval

    def _origin_message(self) -> str:
        return (
            "\nRead the reference first: ref[...][mask], or write jnp.where(mask, new, ref[...])."
        )


def _checked(position: int, size: int, axis: int) -> int:
    if not ir.is_symbolic_dim(size) and position >= size:
        raise ValueError(
            f"index {position} is out of bounds for dimension {axis} of a reference, of size "
            f"{size}."
        )
    return position


def _read_slice(part: slice, size: int, axis: int) -> Part:
    step = 1 if part.step is None else as_int(part.step)
    if step < 1:
        raise ValueError(
            f"a slice of a reference must have a step of at least 1, got {step} along dimension "
            f"{axis}. Read it, and reverse the array."
        )
    start, stop, step = slice(part.start, part.stop, step).indices(size)
    return Part(WINDOW, start, max(-((start - stop) // step), 0), step)


def _read_window(part: Window, size: int, axis: int, operands: list[ArrayLike]) -> Part:
    start: Any = part.start
    if isinstance(part.size, Tracer):
        return _read_span(part, size, axis, operands)
    span = (part.size - 1) * part.stride + 1 if part.size else 0
    concrete = not isinstance(start, Tracer)
    if concrete and not ir.is_symbolic_dim(size) and not 0 <= int(start) <= size - span:
        raise ValueError(
            f"a window of {part.size} elements from {int(start)} on, with step {part.stride}, is "
            f"out of bounds for dimension {axis} of a reference, of size {size}."
        )
    if isinstance(start, int | np.integer):
        return Part(WINDOW, int(start), part.size, part.stride)
    operands.append(start)
    return Part(WINDOW, None, part.size, part.stride)


def _read_span(part: Window, size: int, axis: int, operands: list[ArrayLike]) -> Part:
    start: Any = part.start
    if part.stride != 1:
        raise NotImplementedError(
            f"dimension {axis} of a reference is indexed with a slice of traced size and step "
            f"{part.stride}. Give it a step of 1, or a static size."
        )
    is_static = isinstance(start, int | np.integer)
    operands += [part.size] if is_static else [start, part.size]
    return Part(SPAN, int(start) if is_static else None, size)


def is_whole(form: Form, shape: tuple[int, ...]) -> bool:
    """Whether an index selects all of an array."""
    return (
        not form
        or whole_view(form) is None
        and all(part == (WINDOW, 0, size, 1) for part, size in zip(form, shape, strict=True))
    )


def _has_arrays(form: Sequence[Part]) -> bool:
    return any(part.kind == ARRAY for part in form)


def _is_known(x: Array, form: Form) -> bool:
    """Whether a concrete array is indexed with static numbers, for which its brackets are fast."""
    return (
        ir.context.trace is ir.eval_trace
        and hasattr(type(x), "__getitem__")
        and all(part.start is not None for part in form)
    )


def _starts(form: Form, shape: tuple[int, ...], operands: Sequence[ArrayLike]) -> list[ArrayLike]:
    """The first position along each dimension."""
    positions = iter(operands)
    starts: list[Any] = []
    for part, size in zip(form, shape, strict=True):
        if part.start is None:
            starts.append(convert_element_type(next(positions), np.int32))
        else:
            starts.append(np.int32(max(part.start + size, 0) if part.start < 0 else part.start))
    return starts


def _singles(form: Form) -> tuple[int, ...]:
    return tuple(i for i, part in enumerate(form) if part.kind == ONE)


def read_at(x: Array, form: Form, operands: Sequence[ArrayLike]) -> Array:
    """The part of an array at an index. Positions out of bounds are clamped."""
    shape = x.shape
    if is_whole(form, shape):
        return x
    view = whole_view(form)
    if view is not None:
        return view.read(x)
    if is_spanning(form):
        return read_span(x, form, operands)
    if any(part.step == 0 for part in form):
        return _repeated(x, form, operands)
    if _has_arrays(form) or _is_known(x, form):
        return x[_numpy_index(form, operands)]  # pyright: ignore
    # A dynamic slice has no strides: it reads the span of a window, from which a static slice takes
    # each ``step``-th element.
    spans = [(part.size - 1) * part.step + 1 if part.size else 0 for part in form]
    steps = [part.step for part in form]
    starts = _starts(form, shape, operands)
    if operands or not ir.is_recording():
        window = dynamic_slice(x, starts, spans)
        if any(step != 1 for step in steps):
            window = static_slice(window, [0] * len(spans), spans, steps)
    else:
        ends = [int(s) + n for s, n in zip(starts, spans, strict=True)]  # pyright: ignore
        window = static_slice(x, [int(s) for s in starts], ends, steps)  # pyright: ignore
    singles = _singles(form)
    return squeeze(window, singles) if singles else window


def _repeated(x: Array, form: Form, operands: Sequence[ArrayLike]) -> Array:
    """The part at an index with windows of step 0, which are one element, repeated."""
    singles = tuple([part if part.step else part._replace(size=1, step=1) for part in form])
    value = read_at(x, singles, operands)
    shape = tuple([part.size for part in form if part.kind != ONE])
    return broadcast_in_dim(value, shape, tuple(range(len(shape))))


def written_at(x: Array, form: Form, operands: Sequence[ArrayLike], value: Array) -> Array:
    """The array with the part at an index replaced."""
    if is_whole(form, x.shape):
        return converted(value, x.dtype)  # pyright: ignore[reportReturnType]
    view = whole_view(form)
    if view is not None:
        return view.written(x, value)
    if is_spanning(form):
        return written_span(x, form, operands, value)
    # A window with gaps, or positions in an array, takes a scatter.
    if _has_arrays(form) or any(part.step != 1 for part in form):
        return x.at[_numpy_index(form, operands)].set(value)  # pyright: ignore
    if 0 in (part.size for part in form):
        return x
    singles = _singles(form)
    update = expand_dims(value, singles) if singles else value
    return dynamic_update_slice(x, update, _starts(form, x.shape, operands))


def added_at(x: Array, form: Form, operands: Sequence[ArrayLike], value: Array) -> Array:
    """The array with a value added at an index; it is added at repeated positions repeatedly."""
    if _has_arrays(form):
        return x.at[_numpy_index(form, operands)].add(value)  # pyright: ignore
    return written_at(x, form, operands, add(read_at(x, form, operands), value))


def _numpy_index(form: Form, operands: Sequence[ArrayLike]) -> tuple[Any, ...]:
    """The index in the form of the brackets of arrays."""
    positions = iter(operands)
    brackets: list[Any] = []
    for part in form:
        if part.kind == WINDOW and part.start is not None:
            brackets.append(slice(part.start, part.start + part.size * part.step, part.step))
        elif part.kind == WINDOW:
            steps = np.arange(part.size, dtype=np.int32) * np.int32(part.step)
            brackets.append(add(convert_element_type(next(positions), np.int32), steps))
        else:
            brackets.append(part.start if part.start is not None else next(positions))
    return tuple(brackets)


class Indexer(NamedTuple):
    """One index of a view.

    Attributes:
      indices: for each dimension an integer, a ``Window``, or an array of integers.
    """

    indices: tuple[Any, ...]


def indices_of(form: Form, operands: Sequence[ArrayLike]) -> tuple[Any, ...]:
    """The integers, windows and arrays of an index."""
    view = whole_view(form)
    if view is not None:
        return (view,)
    positions = iter(operands)
    indices: list[Any] = []
    for part in form:
        start: Any = next(positions) if part.start is None else part.start
        size: Any = next(positions) if part.kind == SPAN else part.size
        indices.append(Window(start, size, part.step) if part.kind in (WINDOW, SPAN) else start)
    return tuple(indices)


def index_text(form: Form, names: Sequence[str]) -> str:
    """The text of an index in printed equations.

    Args:
      form: the form.
      names: the names of its operands.
    """
    names_left = iter(names)
    if form and all(p.kind == WINDOW and p[1:] == (0, -1, 1) for p in form):
        return "..."
    return ",".join(_part_text(part, names_left) for part in form)


def _part_text(part: Part, names: Any) -> str:
    if part.kind == SPAN:
        start = next(names) if part.start is None else part.start
        return f"{start}:{start}+{next(names)}"
    if part.kind != WINDOW:
        return next(names) if part.start is None else str(part.start)
    if part.start is None:
        name = next(names)
        return f"{name}:{name}+{part.size}"
    step = f":{part.step}" if part.step != 1 else ""
    start = str(part.start) if part.start else ""
    end = "" if part.size == -1 else str(part.start + (part.size - 1) * part.step + 1)
    return f"{start}:{end}{step}"


def shown_form(form: Form, shape: tuple[int, ...]) -> Form:
    """The form for printing: windows that reach the end have the size -1."""
    return tuple(
        part._replace(size=-1)
        if part.kind == WINDOW
        and part.start is not None
        and part.start + (part.size - 1) * part.step + part.step >= size
        and part.start + (part.size - 1) * part.step < size
        else part
        for part, size in zip(form, shape, strict=True)
    )
