"""Indexing with brackets: slices, single elements, and arrays of indices.

While tracing, an index becomes the operations that it needs: ``slice`` if all positions are
concrete, ``dynamic_slice`` if some are traced, ``gather`` for arrays of indices. An eager call runs
an executable that takes the positions as operands, so that indices of one form share it.
"""

from typing import Literal, get_args

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike
from ricci_numpy._promotion import constant_like, dtype_of

from ._basic_indexing import (
    INT32_LIMITS,
    arranged,
    check_position,
    check_size,
    check_static,
    has_constant_positions,
    row_now,
    window_at,
    windows_now,
    windows_step,
)
from ._entries import DYNAMIC, INT, NEW, SLICE, WINDOW, ParsedIndex, check_not_empty, read_index
from ._gather_form import GatherForm, as_int32, gather_form, indexed_operand, widened, wrapped

_MODES = lax.GatherScatterMode
ModeLike = str | lax.GatherScatterMode | None
"""A mode for indices out of bounds, or its name."""
type Strategy = Literal["auto", "gather", "static_slice", "dynamic_slice"]
"""The operation by which an array is indexed."""


def as_mode(mode: ModeLike) -> lax.GatherScatterMode | None:
    """Return the mode for indices out of bounds, which may be a name.

    Raises:
      ValueError: for a name that is none.
    """
    if mode is None or isinstance(mode, _MODES):
        return mode
    scatter_mode = _mode_names.get(mode)
    if scatter_mode is None:
        raise ValueError(
            f"unknown mode {mode!r} for indices out of bounds: expected 'fill', 'drop', 'clip' or "
            "'promise_in_bounds'."
        )
    return scatter_mode


_mode_names = {
    "fill": _MODES.FILL_OR_DROP,
    "drop": _MODES.FILL_OR_DROP,
    "clip": _MODES.CLIP,
    "promise_in_bounds": _MODES.PROMISE_IN_BOUNDS,
}


def getitem(x: Array, index: ir.Index) -> Array:
    """``x[index]``, by NumPy's rules.

    Indices out of bounds are moved to the nearest element, since compiled code cannot raise.

    Raises:
      IndexError, TypeError: see ``read_index``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.arange(6).reshape(2, 3)[1, ::-1].tolist()
      [5, 4, 3]

    Source: NumPy's indexing routines.
    """
    if ir.context.trace is ir.eval_trace:
        if type(index) is int:
            return row_now(x, index)
        if type(index) is tuple or type(index) is slice or index is None:
            windows = windows_now(x, index if type(index) is tuple else (index,))
            if windows is not None:
                return windows
        if isinstance(index, np.integer):
            return row_now(x, int(index))
    parsed = read_index(x.shape, index)
    if check_static.value:
        _check_positions(parsed)
    return _getitem(x, parsed)


def _check_positions(index: ParsedIndex, wrap: bool = True) -> None:
    """Raise IndexError if an int in an index is out of bounds."""
    axis = 0
    for kind, *fields in index.entries:
        if kind == INT:
            check_position(fields[0], index.shape[axis], axis, wrap)
        axis += kind != NEW


def _getitem(
    x: Array,
    index: ParsedIndex,
    *,
    mode: lax.GatherScatterMode | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    fill_value: ArrayLike | None = None,
    wrap: bool = True,
    strategy: Strategy = "auto",
) -> Array:
    clips = mode is None or mode is _MODES.CLIP or mode is _MODES.PROMISE_IN_BOUNDS
    # Without arrays of indices, windows suffice: static ones if all positions are ints in bounds,
    # else dynamic ones, whose clamping is what the modes ask for. Strides other than 1 need a
    # gather.
    if not index.has_array and clips and strategy != "gather":
        static = not index.has_dynamic and strategy != "dynamic_slice"
        if static and _is_in_bounds(index, wrap):
            return _static(x, index) if ir.is_recording() else _static_step(x, index)
        if not any(e[0] == SLICE and e[3] not in (1, -1) for e in index.entries):
            return _dynamic(x, index, wrap) if ir.is_recording() else _dynamic_step(x, index, wrap)
    options = (
        _MODES.PROMISE_IN_BOUNDS if mode is None else mode,
        indices_are_sorted,
        unique_indices,
        fill_value,
    )
    form, operands = gather_form(index, wrap, positions_as_operands=not ir.is_recording())
    if ir.is_recording():
        return _gather(x, operands, form, *options)
    return _gather_step(x, *operands, form=form, options=options)


def _is_in_bounds(index: ParsedIndex, wrap: bool) -> bool:
    sizes = iter(index.shape)
    for entry in index.entries:
        if entry[0] == NEW:
            continue
        size = next(sizes)
        if entry[0] == INT and not _is_position(entry[1], size, wrap):
            return False
    return True


def _is_position(at: int, size: int, wrap: bool) -> bool:
    # Sizes may be symbolic: only bounds that hold for all their values count.
    return ir.surely_at_least(size, at + 1) if at >= 0 else wrap and ir.surely_at_least(size, -at)


# All positions concrete: slice, rev, squeeze, broadcast_in_dim.


def _static(x: Array, index: ParsedIndex) -> Array:
    starts: list[int] = []
    limits: list[int] = []
    strides: list[int] = []
    reverse: list[int] = []
    squeeze: list[int] = []
    for entry in index.entries:
        kind = entry[0]
        if kind == NEW:
            continue
        axis = len(starts)
        if kind == INT:
            size = index.shape[axis]
            start = entry[1] + size if entry[1] < 0 else entry[1]
            squeeze.append(axis)
            starts.append(start)
            limits.append(start + 1)
            strides.append(1)
            continue
        start, limit, stride = _span(entry)
        if entry[3] < 0:
            reverse.append(axis)
        starts.append(start)
        limits.append(limit)
        strides.append(stride)
    shape = index.shape
    if any(starts) or any(strides[i] != 1 or limits[i] != shape[i] for i in range(len(shape))):
        x = lax.slice_p.bind(
            x,
            start_indices=tuple(starts),
            limit_indices=tuple(limits),
            strides=None if all(s == 1 for s in strides) else tuple(strides),
        )
    return arranged(x, reverse, squeeze, index.entries)


def _span(entry: tuple) -> tuple[int, int, int]:
    """A slice's first position, its limit and its stride, counted upwards."""
    _, start, count, step, limit = entry
    if step > 0:
        return start, start if count == 0 else limit, step
    # Backwards: the lowest position is the last one; the result is reversed afterwards.
    low = start + (count - 1) * step
    return low, start + 1, -step


def _static_step(x: Array, index: ParsedIndex) -> Array:
    starts: list[int] = []
    forms: list[tuple | None] = []
    for entry in index.entries:
        kind = entry[0]
        if kind == NEW:
            forms.append(None)
            continue
        size = index.shape[sum(form is not None for form in forms)]
        if kind == INT:
            forms.append((1, 1, False, True))
            starts.append(entry[1] + size if entry[1] < 0 else entry[1])
            continue
        start, _, stride = _span(entry)
        count = entry[2]
        span = (count - 1) * stride + 1 if count else 0
        forms.append((span, stride, entry[3] < 0, False))
        if span != size:
            starts.append(start if span else 0)
    if not starts and all(form is not None and form[1:] == (1, False, False) for form in forms):
        return x
    if has_constant_positions(forms):
        return windows_step(x, forms=tuple(forms), constants=tuple(starts))
    return windows_step(x, *starts, forms=tuple(forms))


# A single index that is traced, or out of bounds: dynamic_slice.


def _dynamic(x: Array, index: ParsedIndex, wrap: bool) -> Array:
    positions: list[ArrayLike] = []
    sizes: list[int] = []
    reverse: list[int] = []
    squeeze: list[int] = []
    for entry in index.entries:
        kind = entry[0]
        if kind == NEW:
            continue
        axis = len(sizes)
        size = index.shape[axis]
        if kind == SLICE:
            positions.append(_span(entry)[0])
            sizes.append(entry[2])
            if entry[3] < 0:
                reverse.append(axis)
        elif kind == WINDOW:
            positions.append(entry[1])
            sizes.append(entry[2])
        else:
            check_not_empty(size, axis)
            position = entry[1]
            if kind == INT:
                check_size(position)
                # Out of bounds in either case, and clamped to the nearest element.
                position = min(max(position, INT32_LIMITS.min), INT32_LIMITS.max)
            positions.append(position)
            sizes.append(1)
            squeeze.append(axis)
    # As in JAX, a position that is alone keeps its dtype; several are int32.
    alone = len(positions) == 1 and hasattr(type(positions[0]), "aval")
    starts = positions if alone else list(map(as_int32, positions))
    if wrap:
        starts = [_wrapped_start(start, n) for start, n in zip(starts, index.shape, strict=True)]
    return arranged(window_at(x, tuple(starts), tuple(sizes)), reverse, squeeze, index.entries)


def _wrapped_start(start: ArrayLike, size: int) -> ArrayLike:
    return start if dtype_of(start).kind == "u" else wrapped(widened(start, size), size)


def _dynamic_step(x: Array, index: ParsedIndex, wrap: bool) -> Array:
    form: list[tuple] = []
    operands: list[ArrayLike] = []
    for entry in index.entries:
        if entry[0] in (INT, DYNAMIC):
            form.append((DYNAMIC,))
            operands.append(entry[1])
        elif entry[0] == WINDOW:
            form.append((WINDOW, entry[2]))
            operands.append(entry[1])
        else:
            form.append(entry)
    return _dynamic_windows(x, *operands, form=tuple(form), shape=index.shape, wrap=wrap)


@ir.composite("getitem")
def _dynamic_windows(
    x: Array, *operands: ArrayLike, form: tuple, shape: tuple, wrap: bool
) -> Array:
    remaining = iter(operands)
    entries = []
    for entry in form:
        if entry[0] == DYNAMIC:
            entry = (DYNAMIC, next(remaining))
        elif entry[0] == WINDOW:
            entry = (WINDOW, next(remaining), entry[1])
        entries.append(entry)
    return _dynamic(x, ParsedIndex(entries, shape, (), False, True), wrap)


# Arrays of indices: gather.


def _gather(
    x: Array,
    operands: list[ArrayLike],
    form: GatherForm,
    mode: lax.GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
    fill_value: ArrayLike | None,
) -> Array:
    plan = form.plan(operands)
    if plan.indices is None:
        result = x
    elif 0 in plan.shape:
        indexed_operand(x, form.added)
        result = lax.broadcast_in_dim(constant_like(x, 0), plan.shape, ())
    else:
        result = lax.gather(
            indexed_operand(x, form.added),
            plan.indices,
            plan.gather_dimensions(),
            plan.slice_sizes,
            indices_are_sorted=indices_are_sorted or plan.is_regular,
            unique_indices=unique_indices or plan.is_regular,
            mode=mode,
            fill_value=fill_value,
        )
    if plan.reverse:
        result = lax.rev_p.bind(result, dimensions=plan.reverse)
    return lax.expand_dims(result, plan.new) if plan.new else result


@ir.composite("getitem")
def _gather_step(x: Array, *operands: ArrayLike, form: GatherForm, options: tuple) -> Array:
    return _gather(x, list(operands), form, *options)


def get_at(
    x: Array,
    index: ir.Index,
    *,
    mode: ModeLike = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    fill_value: ArrayLike | None = None,
    wrap_negative_indices: bool = True,
    strategy: Strategy = "auto",
) -> Array:
    """``x[index]`` with a choice of what happens to indices out of bounds; see ``x.at[].get``."""
    parsed, mode = read_index(x.shape, index), as_mode(mode)
    if strategy != "auto":
        _check_strategy(strategy, parsed, mode, wrap_negative_indices)
    if check_static.value and mode in (None, _MODES.PROMISE_IN_BOUNDS):
        _check_positions(parsed, wrap_negative_indices)
    return _getitem(
        x,
        parsed,
        mode=mode,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        fill_value=fill_value,
        wrap=wrap_negative_indices,
        strategy=strategy,
    )


def _check_strategy(
    strategy: str, index: ParsedIndex, mode: lax.GatherScatterMode | None, wrap: bool
) -> None:
    """Check that an index can be read by a strategy of ``x.at[].get``."""
    if strategy not in get_args(Strategy.__value__):
        raise ValueError(
            f"at[].get: strategy={strategy!r} is unknown; it is 'auto', 'gather', 'static_slice' "
            "or 'dynamic_slice'."
        )
    if strategy == "gather":
        return
    if mode is _MODES.FILL_OR_DROP:
        raise ValueError(
            f"at[].get: strategy={strategy!r} does not take mode='fill', only 'clip' and "
            "'promise_in_bounds'."
        )
    is_static = strategy == "static_slice"
    if index.has_array or (is_static and index.has_dynamic):
        raise TypeError(
            f"at[].get: strategy={strategy!r} takes {'ints' if is_static else 'scalars'} and "
            "slices as indices. For arrays of indices, leave it out."
        )
    if is_static:
        _check_positions(index, wrap)
    elif any(e[0] == SLICE and e[3] not in (1, -1) for e in index.entries):
        raise TypeError(
            "at[].get: strategy='dynamic_slice' takes slices of step 1 or -1 only. Use "
            "'static_slice' or 'gather'."
        )
