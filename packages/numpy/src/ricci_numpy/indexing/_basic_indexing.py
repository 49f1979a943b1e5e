"""NumPy's basic indexing outside of any trace: windows that ints and slices select.

These are the hot paths. Positions are operands of an executable, which is cached by the array's
type and the form of the index.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, ShapedArray
from ricci_numpy.arrays._creation import uploads_are_guarded

from ._entries import INT, NEW, SLICE, WINDOW, check_not_empty, read_index
from ._sharded import is_sharded, sharded_windows

INT32_LIMITS = np.iinfo(np.int32)

check_static: ir.State = ir.config.state("jax_check_static_indices")


def check_position(index: int, size: int, axis: int, wrap: bool = True) -> None:
    """Raise ``IndexError`` for an int that is out of bounds."""
    if not (-size if wrap else 0) <= index < size:
        raise IndexError(
            f"index {index} is out of bounds for axis {axis} with size {size}. It would be moved "
            "to the nearest element, but the option jax_check_static_indices is on, or the "
            "strategy is 'static_slice'."
        )


# The setting of 64-bit types is part of the keys: it decides the dtype of positions.
_rows: ir.Cache[tuple[ShapedArray, bool], tuple[int, dict[str, Any]]] = ir.Cache("rows", 4096)
_steps: ir.Cache[tuple, dict[str, Any]] = ir.Cache("index steps", 4096)
# Span 1, stride 1, not reversed, squeezed: the form of a single int.
_INT_FORM = (1, 1, False, True)


def row_now(x: Array, index: int) -> Array:
    """``x[index]`` for an int."""
    key = x.aval, ir.enable_x64.value
    row = _rows.entries.get(key)
    if row is None:
        row = _rows.make(key, _row_step, x.aval)
    size, params = row
    if not 0 <= index < size:
        index = _clamped(index, size, 0)
    if is_sharded(x):
        return sharded_windows(x, index, forms=_row_forms(x.aval))
    return ir.eval_trace.process(ir.staged_call.call, (x, index), params)[0]


def _clamped(index: int, size: int, axis: int) -> int:
    """The position that compiled code would use: wrapped once if negative, then clamped."""
    check_not_empty(size, axis)
    if check_static.value:
        check_position(index, size, axis)
    check_size(index)
    if index < 0:
        index += size
    return min(max(index, 0), size - 1)


def check_size(index: int) -> None:
    """Raise ``OverflowError`` for an int that the default integer does not hold."""
    if not INT32_LIMITS.min <= index <= INT32_LIMITS.max:
        limits = np.iinfo(ir.python_scalar_dtype(int))
        if not limits.min <= index <= limits.max:
            raise OverflowError(f"the index {index} is too large for {limits.dtype}.")


def _row_step(aval: ShapedArray) -> tuple[int, dict[str, Any]]:
    if not aval.shape:
        read_index((), 0)  # raises
    size = aval.shape[0]
    check_not_empty(size, 0)
    return size, _step(aval, 1, _row_forms(aval))


def _row_forms(aval: ShapedArray) -> tuple:
    return (_INT_FORM, *((n, 1, False, False) for n in aval.shape[1:]))


def _step(
    aval: ShapedArray, count: int, forms: tuple, constants: tuple[int, ...] = ()
) -> dict[str, Any]:
    """The staged call that cuts windows at ``count`` given positions, or at constant ones."""

    def windows(x: Array, *starts: ArrayLike) -> list[Array]:
        return [_cut(x, starts or constants, forms)]

    jaxpr = ir.trace_to_jaxpr(windows, (aval, *(ir.get_aval(0),) * count))
    return {"jaxpr": jaxpr, "name": "getitem"}


def windows_now(x: Array, index: tuple) -> Array | None:
    """``x[index]`` if the index has ints, slices, ``None`` and ``...`` only, else ``None``."""
    # The positions are operands and the forms static, so that ``x[0]``, ``x[1]``, ... share an
    # executable. A part that spans its dimension has no position.
    aval = x.aval
    sizes = aval.shape
    forms: list[tuple | None] = []
    starts: list[int] = []
    axis = 0
    for part in index:
        if part is None:
            forms.append(None)
            continue
        if part is Ellipsis:
            stop = axis + _ellipsis_width(index, len(sizes))
            forms.extend([(n, *_WHOLE) for n in sizes[axis:stop]])
            axis = stop
            continue
        if axis >= len(sizes):
            return None
        size = sizes[axis]
        if type(part) is int:
            starts.append(part if 0 <= part < size else _clamped(part, size, axis))
            forms.append(_INT_FORM)
        else:
            form, start = _window(part, size) if type(part) is slice else _NO_WINDOW
            if form is None:
                return None
            # A window that spans its dimension moves nowhere. An empty one may start anywhere; 0 is
            # in bounds.
            if form[0] != size:
                starts.append(start if form[0] else 0)
            forms.append(form)
        axis += 1
    if axis > len(sizes):
        return None
    forms.extend([(n, *_WHOLE) for n in sizes[axis:]])
    if not starts and all(form is not None and form[1:] == _WHOLE for form in forms):
        return x
    if is_sharded(x):
        return sharded_windows(x, *starts, forms=tuple(forms))
    constants: tuple[int, ...] = ()
    if has_constant_positions(forms):
        constants, starts = tuple(starts), []
    key = (aval, *forms, ir.enable_x64.value, *constants)
    params = _steps.entries.get(key)
    if params is None:
        params = _steps.make(key, _step, aval, len(starts), tuple(forms), constants)
    return ir.eval_trace.process(ir.staged_call.call, (x, *starts), params)[0]


def has_constant_positions(forms: Sequence[tuple | None]) -> bool:
    """Whether an index's positions are constants of its executable, as those of strides are in JAX.

    They are only where a guard would refuse to copy them: elsewhere slices share executables.
    """
    return any(form is not None and form[1] != 1 for form in forms) and uploads_are_guarded()


# The stride of a window that spans its dimension, and whether it is reversed or squeezed.
_WHOLE = (1, False, False)
_NO_WINDOW = None, 0


def _ellipsis_width(index: tuple, rank: int) -> int:
    """The number of dimensions that ``...`` selects; too many if there is another ``...``."""
    ellipses = sum(part is Ellipsis for part in index)
    consumed = sum(type(part) is int or type(part) is slice for part in index)
    return rank - consumed if ellipses == 1 and consumed <= rank else rank + 1


def _window(part: slice, size: int) -> tuple[tuple | None, int]:
    """The form of a slice's window, ``None`` if the slice holds arrays, and its lowest position."""
    try:
        start, stop, step = part.indices(size)
    except TypeError:
        return _NO_WINDOW
    if step == 1:
        return (stop - start if stop > start else 0, 1, False, False), start
    # A window spans from the lowest to the highest selected position, so that its size is static
    # and its start an operand; the stride is applied inside it.
    count = len(range(start, stop, step))
    if step > 0:
        return ((count - 1) * step + 1 if count else 0, step, False, False), start
    # Negative: from the first position down to the lowest one.
    reach = (count - 1) * step
    return (1 - reach if count else 0, -step, True, False), start + reach


def window_at(x: Array, starts: tuple, sizes: tuple[int, ...]) -> Array:
    """A window of an array at positions, which are clamped so that it is inside."""
    return lax.dynamic_slice_p.bind(x, *starts, slice_sizes=sizes)


def _cut(x: Array, starts: Sequence[ArrayLike], forms: tuple) -> Array:
    """Windows of an array, each form ``(span, stride, reversed, squeezed)`` or ``None``.

    A window that spans its dimension has no start in ``starts``; ``None`` is a new dimension.
    """
    remaining = iter(starts)
    entries: list[tuple] = []
    begin: list[ArrayLike] = []
    sizes: list[int] = []
    strides: list[int] = []
    reverse: list[int] = []
    squeeze: list[int] = []
    for form in forms:
        if form is None:
            entries.append((NEW,))
            continue
        span, stride, is_reversed, is_squeezed = form
        axis = len(sizes)
        # dynamic_slice takes a start for every dimension; those of whole windows are constants.
        moves = is_squeezed or span != x.shape[axis]
        begin.append(lax.convert_element_type(next(remaining), np.int32) if moves else np.int32(0))
        sizes.append(span)
        strides.append(stride)
        if is_reversed:
            reverse.append(axis)
        if is_squeezed:
            squeeze.append(axis)
        entries.append((INT,) if is_squeezed else (SLICE,))
    if starts:
        x = window_at(x, tuple(begin), tuple(sizes))
    # dynamic_slice has no strides, so they follow in a static slice of the window.
    if any(stride != 1 for stride in strides):
        x = lax.slice(x, (0,) * len(sizes), sizes, strides)
    return arranged(x, reverse, squeeze, entries)


@ir.composite("getitem")
def windows_step(
    x: Array, *starts: ArrayLike, forms: tuple, constants: tuple[int, ...] = ()
) -> Array:
    """Windows of an array as one step; see ``_cut``. Positions may be constants of it."""
    return _cut(x, starts or constants, forms)


def arranged(x: Array, reverse: list[int], squeeze: list[int], entries: list[tuple]) -> Array:
    """Reverse and squeeze dimensions of a window, and add those of ``None``."""
    if reverse:
        x = lax.rev_p.bind(x, dimensions=tuple(reverse))
    if squeeze:
        x = lax.squeeze_p.bind(x, dimensions=tuple(squeeze))
    if any(entry[0] == NEW for entry in entries):
        return lax.expand_dims(x, _new_dimensions(entries))
    return x


def _new_dimensions(entries: list[tuple]) -> tuple[int, ...]:
    """The positions, in the result, of new dimensions where no entry is an array."""
    result_kinds = [entry[0] for entry in entries if entry[0] in (NEW, SLICE, WINDOW)]
    return tuple(i for i, kind in enumerate(result_kinds) if kind == NEW)
