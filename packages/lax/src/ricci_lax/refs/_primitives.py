"""The primitives of references, and the updates that writing to them makes.

They occur in jaxprs, but are never lowered, differentiated or batched: these transformations
discharge the jaxpr first, or apply the ``discharge`` rules, which are functions of the referenced
array.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, ArrayLike, Primitive, ShapedArray, Tracer
from ricci_lax.structure._broadcasting import zeros_of

from ._forms import ARRAY, SPAN, WINDOW, Form, Part, split_operands
from ._indexing import added_at, index_text, is_whole, read_at, shown_form, written_at
from ._spans import is_spanning
from ._views import whole_view

__all__ = [
    "addupdate_p",
    "empty_ref_p",
    "free_ref_p",
    "freeze_p",
    "get_p",
    "new_ref_p",
    "place_text",
    "swap_p",
]

# While tracing, an update is a function of arrays. Eagerly, for a large array, it is one compiled
# step whose operands include the positions, so that new positions compile nothing. The array is
# donated to the step if the reference owns it: writing one element does not copy the others.

type Forms = tuple[Form, ...]

# The most elements of an array that is copied: that takes no longer than the call, and the first
# such copies are not compiled.
_SMALL = 1 << 14


# Several indices, one after the other


def read_part(x: Array, forms: Forms, operands: Sequence[Any]) -> Array:
    """The part of an array at several indices."""
    for form, positions in zip(forms, split_operands(forms, operands), strict=True):
        x = read_at(x, form, positions)
    return x


def _updated(
    update: Callable[..., Array], x: Array, forms: Forms, operands: Sequence[Any], value: Array
) -> Array:
    """``update`` applied at the innermost of several indices."""
    if not forms:
        return update(x, (), (), value)
    first, *inner_forms = forms
    positions, *_ = split_operands(forms, operands)
    if not inner_forms:
        return update(x, first, positions, value)
    # A view of a view: the outer part is read, updated inside, and written back as a whole.
    inner = _updated(
        update, read_at(x, first, positions), tuple(inner_forms), operands[len(positions) :], value
    )
    return written_at(x, first, positions, inner)


def shape_behind(form: Form, shape: tuple[int, ...], operands: Sequence[Any]) -> tuple[int, ...]:
    """The shape of the part of an array at an index."""
    view = whole_view(form)
    if view is not None:
        return view.shape_of(shape)
    if not any(part.kind == ARRAY for part in form):
        return tuple(part.size for part in form if part.kind in (WINDOW, SPAN)) if form else shape
    run = lambda x, *indices: [read_at(x, form, indices)]
    avals = [ShapedArray(shape, np.float32), *(x.aval for x in operands)]
    return ir.trace_to_jaxpr(run, avals).out_avals[0].shape  # pyright: ignore


# Eager steps


def _write(x: Array, value: Array, *operands: Array, transforms: Forms) -> Array:
    return _updated(written_at, x, transforms, operands, value)


def _add(x: Array, value: Array, *operands: Array, transforms: Forms) -> Array:
    return _updated(added_at, x, transforms, operands, value)


def _swap(x: Array, value: Array, *operands: Array, transforms: Forms) -> tuple[Array, Array]:
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
    ref: ir.Ref, value: ArrayLike, operands: Sequence[ArrayLike], transforms: Forms
) -> tuple[Forms, list[Any]] | None:
    """The indices of a step with positions as operands, or ``None`` if no step supports them.

    Strides, and windows beside arrays of positions, are quicker with known positions.
    """
    if ir.context.trace is not ir.eval_trace or type(ref) is not ir.Ref or ref.size <= _SMALL:
        return None
    if ir.is_extended(ref.dtype) or any(isinstance(x, Tracer) for x in (value, *operands)):
        return None
    if any(whole_view(form) is not None or is_spanning(form) for form in transforms):
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
                # Static positions become operands, too: one compiled step then serves them all.
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
    value: ArrayLike,
    operands: Sequence[ArrayLike],
    transforms: Forms,
) -> Any:
    """Apply a step to the array of a reference, donating the array if the reference owns it."""
    step = _step_operands(ref, value, operands, transforms)
    if step is None:
        return steps[0].fun(ref.read(), value, *operands, transforms=transforms)
    forms, positions = step
    return steps[ref.is_owned](ref.read(), value, *positions, transforms=forms)


def write(ref: ir.Ref, value: ArrayLike, operands: Sequence[ArrayLike], transforms: Forms) -> None:
    """Write to a reference eagerly."""
    with ir.locked((ref,)):
        new = _apply(_write_steps, ref, value, operands, transforms)
        _settle(ref, new, value)


def add(ref: ir.Ref, value: ArrayLike, operands: Sequence[ArrayLike], transforms: Forms) -> None:
    """Add to a reference eagerly."""
    with ir.locked((ref,)):
        new = _apply(_add_steps, ref, value, operands, transforms)
        _settle(ref, new, value)


def swap(ref: ir.Ref, value: ArrayLike, operands: Sequence[ArrayLike], transforms: Forms) -> Array:
    """Write to a reference eagerly, and return the previous value."""
    with ir.locked((ref,)):
        new, old = _apply(_swap_steps, ref, value, operands, transforms)
        if old is ref.read():
            # The caller has the array now: the reference must not donate it to the next write.
            ref.read(shared=True)
        _settle(ref, new, value)
    return old


def _settle(ref: ir.Ref, new: Array, value: ArrayLike) -> None:
    """Write a new array; the reference owns it if it is neither the value nor the old array."""
    if new is not ref.read():
        ref.write(new, fresh=new is not value)


def _part_aval(ref: ir.AbstractRef, *operands: ShapedArray, transforms: Forms) -> ShapedArray:
    """The type of the part of a reference at some indices."""
    inner = ref.inner_aval
    if all(is_whole(form, ref.shape) for form in transforms):
        return inner
    run = lambda x, *indices: [read_part(x, transforms, indices)]
    (aval,) = ir.trace_to_jaxpr(run, [inner, *operands]).out_avals
    return aval.strip_weak_type()  # pyright: ignore[reportReturnType]


def place_text(ref: Any, operands: Sequence[Any], transforms: Forms, atom: Any) -> str:
    """The text of a reference with its indices in printed equations."""
    text = atom(ref)
    shape = ref.aval.shape
    if not transforms:
        return f"{text}[...]"
    for form, positions in zip(transforms, split_operands(transforms, operands), strict=True):
        view = whole_view(form)
        if view is not None:
            text += f"{{{view}}}"
        elif is_whole(form, shape):
            text += "[...]"
        else:
            text += f"[{index_text(shown_form(form, shape), [atom(x) for x in positions])}]"
        shape = shape_behind(form, shape, positions)
    return text


# Reading and writing


def _get_discharge(ref: Any, *operands: ArrayLike, transforms: Forms) -> Array:
    x = ref.read()
    part = read_part(x, transforms, operands)
    # The whole array is not copied: from then on the reference shares it with the caller.
    return ref.read(shared=True) if part is x else part


def _get_notation(eqn: Any, binder: Any, atom: Any) -> list[Any]:
    ref, *operands = eqn.invars
    place = place_text(ref, operands, eqn.params["transforms"], atom)
    return [binder(eqn.outvars[0]), " <- ", place]


def _swap_notation(eqn: Any, binder: Any, atom: Any) -> list[Any]:
    ref, value, *operands = eqn.invars
    place = place_text(ref, operands, eqn.params["transforms"], atom)
    old = eqn.outvars[0]
    if type(old).__name__ == "DropVar":
        return [place, " <- ", atom(value)]
    return [binder(old), ", ", place, " <- ", place, ", ", atom(value)]


def _addupdate_discharge(ref: Any, value: Any, *operands: ArrayLike, transforms: Forms) -> list:
    add(ref, value, operands, transforms)
    return []


def _addupdate_notation(eqn: Any, binder: Any, atom: Any) -> list[Any]:
    ref, value, *operands = eqn.invars
    return [place_text(ref, operands, eqn.params["transforms"], atom), " += ", atom(value)]


_discharged = ir.unsupported(
    "references are not interpreted in jaxprs: discharge the jaxpr first (ricci_ir.discharged)"
)
_rules: dict[str, Any] = {
    "jvp": _discharged,
    "transpose": _discharged,
    "batch": _discharged,
    "lower": _discharged,
    "sharding": ir.by_program,
}

# Operands: the reference and the positions of its indices.
get_p: Primitive = ir.define(
    "get",
    abstract_eval=_part_aval,
    effects=lambda params: _reading,
    discharge=_get_discharge,
    notation=_get_notation,
    **_rules,
)

# Operands: the reference, the new value, and the positions. The result is the old value.
swap_p: Primitive = ir.define(
    "swap",
    abstract_eval=lambda ref, value, *operands, transforms: _part_aval(
        ref, *operands, transforms=transforms
    ),
    effects=lambda params: _writing,
    discharge=lambda ref, value, *operands, transforms: swap(ref, value, operands, transforms),
    notation=_swap_notation,
    **_rules,
)

# Operands: the reference, the value to add, and the positions.
addupdate_p: Primitive = ir.define(
    "addupdate",
    abstract_eval=lambda ref, value, *operands, transforms: [],
    multiple_results=True,
    effects=lambda params: _accumulating,
    discharge=_addupdate_discharge,
    notation=_addupdate_notation,
    **_rules,
)

_reading = frozenset({ir.read_effect})
_writing = frozenset({ir.write_effect})
_accumulating = frozenset({ir.accumulate_effect})
_making = frozenset({ir.inside_effect})


# Creating and freeing

new_ref_p: Primitive = ir.define(
    "new_ref",
    abstract_eval=lambda init, *, memory_space, kind, pin: ir.AbstractRef(init, memory_space, kind),
    effects=lambda params: _making,
    discharge=lambda init, *, memory_space, kind, pin: ir.Ref(
        ir.AbstractRef(ir.get_aval(init), memory_space, kind), init
    ),
    **_rules,
)

empty_ref_p: Primitive = ir.define(
    "empty_ref",
    abstract_eval=lambda *, ty, memory_space, pin: ir.AbstractRef(ty, memory_space),
    effects=lambda params: _making,
    discharge=lambda *, ty, memory_space, pin: ir.Ref(
        ir.AbstractRef(ty, memory_space), zeros_of(ty)
    ),
    **_rules,
)

freeze_p: Primitive = ir.define(
    "freeze",
    abstract_eval=lambda ref: ref.inner_aval,
    effects=lambda params: _reading,
    discharge=lambda ref: ref.read(shared=True),
    **_rules,
)


def _free_discharge(ref: Any) -> list[Any]:
    ref.free()
    return []


free_ref_p: Primitive = ir.define(
    "free_ref",
    abstract_eval=lambda ref: [],
    multiple_results=True,
    effects=lambda params: _writing,
    discharge=_free_discharge,
    **_rules,
)
