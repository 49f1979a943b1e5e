"""Updates of the array of a reference when a part of it is written.

While tracing, an update is a function of arrays. Eagerly, for a large array, it is one compiled
step whose operands include the positions, so that new positions compile nothing. The array is
donated to the step if the reference owns it, so that writing one element does not copy the others.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._indexing import ARRAY, WINDOW, Form, Part, added_at, read_at, split_operands, written_at

__all__ = ["add", "Forms", "read_part", "shape_behind", "swap", "write"]

type Forms = tuple[Form, ...]

# The most elements of an array that is copied: that takes no longer than the call, and the first
# such copies are not compiled.
_SMALL = 1 << 14


# Several indices, one after the other


def read_part(x: ir.Array, forms: Forms, operands: Sequence[Any]) -> ir.Array:
    """The part of an array at several indices."""
    for form, positions in zip(forms, split_operands(forms, operands), strict=True):
        x = read_at(x, form, positions)
    return x


def _updated(
    update: Callable[..., ir.Array],
    x: ir.Array,
    forms: Forms,
    operands: Sequence[Any],
    value: ir.Array,
) -> ir.Array:
    """``update`` applied at the innermost of several indices."""
    if not forms:
        return update(x, (), (), value)
    first, *inner_forms = forms
    positions, *_ = split_operands(forms, operands)
    if not inner_forms:
        return update(x, first, positions, value)
    inner = _updated(
        update, read_at(x, first, positions), tuple(inner_forms), operands[len(positions) :], value
    )
    return written_at(x, first, positions, inner)


def shape_behind(form: Form, shape: tuple[int, ...], operands: Sequence[Any]) -> tuple[int, ...]:
    """The shape of the part of an array at an index."""
    if not any(part.kind == ARRAY for part in form):
        return tuple(part.size for part in form if part.kind == WINDOW) if form else shape
    run = lambda x, *given: [read_at(x, form, given)]
    avals = [ir.ShapedArray(shape, np.float32), *(x.aval for x in operands)]
    return ir.trace_to_jaxpr(run, avals).out_avals[0].shape  # pyright: ignore


# Eager steps


def _write(x: ir.Array, value: ir.Array, *operands: ir.Array, transforms: Forms) -> ir.Array:
    return _updated(written_at, x, transforms, operands, value)


def _add(x: ir.Array, value: ir.Array, *operands: ir.Array, transforms: Forms) -> ir.Array:
    return _updated(added_at, x, transforms, operands, value)


def _swap(
    x: ir.Array, value: ir.Array, *operands: ir.Array, transforms: Forms
) -> tuple[ir.Array, ir.Array]:
    old = read_part(x, transforms, operands)
    return _write(x, value, *operands, transforms=transforms), old


# Each once for arrays that may be shared, and once for those whose memory is donated.
_write_steps = (ir.Composite(_write, "ref_set"), ir.Composite(_write, "ref_set", donates=True))
_add_steps = (
    ir.Composite(_add, "ref_addupdate"),
    ir.Composite(_add, "ref_addupdate", donates=True),
)
_swap_steps = (ir.Composite(_swap, "ref_swap"), ir.Composite(_swap, "ref_swap", donates=True))


def _step_operands(
    ref: ir.Ref, value: ir.ArrayLike, operands: Sequence[ir.ArrayLike], transforms: Forms
) -> tuple[Forms, list[Any]] | None:
    """The indices of a step with positions as operands, or ``None`` if no step supports them.

    Strides, and windows beside arrays of positions, are quicker with known positions.
    """
    if ir.context.trace is not ir.eval_trace or type(ref) is not ir.Ref or ref.size <= _SMALL:
        return None
    if ir.is_extended(ref.dtype) or any(isinstance(x, ir.Tracer) for x in (value, *operands)):
        return None
    shape = ref.shape
    forms: list[Form] = []
    step_operands: list[Any] = []
    is_part = False
    for form, positions in zip(transforms, split_operands(transforms, operands), strict=True):
        has_arrays = any(part.kind == ARRAY for part in form)
        if has_arrays and len(forms) + 1 < len(transforms):
            return None
        remaining = iter(positions)
        parts: list[Part] = []
        for part, size in zip(form, shape, strict=True):
            if part.start is None:
                step_operands.append(next(remaining))
            elif part != (WINDOW, 0, size, 1):
                if part.kind == WINDOW and (has_arrays or part.step != 1 or not part.size):
                    return None
                step_operands.append(
                    np.int32(part.start if part.start >= 0 else max(part.start + size, 0))
                )
                part = part._replace(start=None)
            parts.append(part)
            is_part = is_part or part.start is None
        forms.append(tuple(parts))
        shape = shape_behind(form, shape, positions) if not has_arrays else ()
    return (tuple(forms), step_operands) if is_part else None


def _apply(
    steps: tuple[ir.Composite[Any], ir.Composite[Any]],
    ref: ir.Ref,
    value: ir.ArrayLike,
    operands: Sequence[ir.ArrayLike],
    transforms: Forms,
) -> Any:
    """Apply a step to the array of a reference, donating the array if the reference owns it."""
    step = _step_operands(ref, value, operands, transforms)
    if step is None:
        return steps[0].fun(ref.read(), value, *operands, transforms=transforms)
    forms, positions = step
    return steps[ref.is_owned](ref.read(), value, *positions, transforms=forms)


def write(
    ref: ir.Ref, value: ir.ArrayLike, operands: Sequence[ir.ArrayLike], transforms: Forms
) -> None:
    """Write to a reference eagerly."""
    with ir.locked((ref,)):
        new = _apply(_write_steps, ref, value, operands, transforms)
        _settle(ref, new, value)


def add(
    ref: ir.Ref, value: ir.ArrayLike, operands: Sequence[ir.ArrayLike], transforms: Forms
) -> None:
    """Add to a reference eagerly."""
    with ir.locked((ref,)):
        new = _apply(_add_steps, ref, value, operands, transforms)
        _settle(ref, new, value)


def swap(
    ref: ir.Ref, value: ir.ArrayLike, operands: Sequence[ir.ArrayLike], transforms: Forms
) -> ir.Array:
    """Write to a reference eagerly, and return the previous value."""
    with ir.locked((ref,)):
        new, old = _apply(_swap_steps, ref, value, operands, transforms)
        if old is ref.read():
            ref.read(shared=True)
        _settle(ref, new, value)
    return old


def _settle(ref: ir.Ref, new: ir.Array, value: ir.ArrayLike) -> None:
    """Write a new array; the reference owns it if it is neither the value nor the old array."""
    if new is not ref.read():
        ref.write(new, fresh=new is not value)
