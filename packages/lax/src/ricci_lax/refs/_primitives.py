"""The primitives of references.

They occur in jaxprs, but are never lowered, differentiated or batched: these transformations
discharge the jaxpr first, or apply the ``discharge`` rules, which are functions of the referenced
array.
"""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_lax.rules._law_examples import no_examples
from ricci_lax.structure._broadcasting import zeros_of

from ._indexing import index_text, is_whole, shown_form, split_operands
from ._updates import Forms, add, read_part, shape_behind, swap

__all__ = ["addupdate_p", "empty_ref_p", "free_ref_p", "freeze_p", "get_p", "new_ref_p", "swap_p"]


def _part_aval(ref: ir.AbstractRef, *operands: ir.ShapedArray, transforms: Forms) -> ir.ShapedArray:
    """The type of the part of a reference at some indices."""
    inner = ref.inner_aval
    if all(is_whole(form, ref.shape) for form in transforms):
        return inner
    run = lambda x, *given: [read_part(x, transforms, given)]
    (aval,) = ir.trace_to_jaxpr(run, [inner, *operands]).out_avals
    return aval.strip_weak_type()  # pyright: ignore[reportAttributeAccessIssue]


def _place_text(ref: Any, operands: Sequence[Any], transforms: Forms, atom: Any) -> str:
    """The text of a reference with its indices in printed equations."""
    text = atom(ref)
    shape = ref.aval.shape
    if not transforms:
        return f"{text}[...]"
    for form, positions in zip(transforms, split_operands(transforms, operands), strict=True):
        if is_whole(form, shape):
            text += "[...]"
        else:
            text += f"[{index_text(shown_form(form, shape), [atom(x) for x in positions])}]"
        shape = shape_behind(form, shape, positions)
    return text


# Reading and writing


def _get_discharge(ref: Any, *operands: ir.ArrayLike, transforms: Forms) -> ir.Array:
    x = ref.read()
    part = read_part(x, transforms, operands)
    return ref.read(shared=True) if part is x else part


def _get_notation(eqn: Any, binder: Any, atom: Any) -> list[Any]:
    ref, *operands = eqn.invars
    place = _place_text(ref, operands, eqn.params["transforms"], atom)
    return [binder(eqn.outvars[0]), " <- ", place]


def _swap_discharge(ref: Any, value: Any, *operands: ir.ArrayLike, transforms: Forms) -> ir.Array:
    return swap(ref, value, operands, transforms)


def _swap_notation(eqn: Any, binder: Any, atom: Any) -> list[Any]:
    ref, value, *operands = eqn.invars
    place = _place_text(ref, operands, eqn.params["transforms"], atom)
    old = eqn.outvars[0]
    if type(old).__name__ == "DropVar":
        return [place, " <- ", atom(value)]
    return [binder(old), ", ", place, " <- ", place, ", ", atom(value)]


def _addupdate_discharge(ref: Any, value: Any, *operands: ir.ArrayLike, transforms: Forms) -> list:
    add(ref, value, operands, transforms)
    return []


def _addupdate_notation(eqn: Any, binder: Any, atom: Any) -> list[Any]:
    ref, value, *operands = eqn.invars
    return [_place_text(ref, operands, eqn.params["transforms"], atom), " += ", atom(value)]


_discharged = ir.unsupported(
    "references are not interpreted in jaxprs: discharge the jaxpr first (ricci_ir.discharged)"
)
_rules: dict[str, Any] = {
    "jvp": _discharged,
    "transpose": _discharged,
    "batch": _discharged,
    "lower": _discharged,
    "sharding": ir.by_program,
    "examples": no_examples("references are not arrays; other laws apply to them"),
}

# Operands: the reference and the positions of its indices.
get_p: ir.Primitive = ir.define(
    "get",
    abstract_eval=_part_aval,
    effects=lambda params: _reading,
    discharge=_get_discharge,
    notation=_get_notation,
    **_rules,
)

# Operands: the reference, the new value, and the positions. The result is the old value.
swap_p: ir.Primitive = ir.define(
    "swap",
    abstract_eval=lambda ref, value, *operands, transforms: _part_aval(
        ref, *operands, transforms=transforms
    ),
    effects=lambda params: _writing,
    discharge=_swap_discharge,
    notation=_swap_notation,
    **_rules,
)

# Operands: the reference, the value to add, and the positions.
addupdate_p: ir.Primitive = ir.define(
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

new_ref_p: ir.Primitive = ir.define(
    "new_ref",
    abstract_eval=lambda init, *, memory_space, kind, pin: ir.AbstractRef(init, memory_space, kind),
    effects=lambda params: _making,
    discharge=lambda init, *, memory_space, kind, pin: ir.Ref(
        ir.AbstractRef(ir.get_aval(init), memory_space, kind), init
    ),
    **_rules,
)

empty_ref_p: ir.Primitive = ir.define(
    "empty_ref",
    abstract_eval=lambda *, ty, memory_space, pin: ir.AbstractRef(ty, memory_space),
    effects=lambda params: _making,
    discharge=lambda *, ty, memory_space, pin: ir.Ref(
        ir.AbstractRef(ty, memory_space), zeros_of(ty)
    ),
    **_rules,
)

freeze_p: ir.Primitive = ir.define(
    "freeze",
    abstract_eval=lambda ref: ref.inner_aval,
    effects=lambda params: _reading,
    discharge=lambda ref: ref.read(shared=True),
    **_rules,
)


def _free_discharge(ref: Any) -> list[Any]:
    ref.free()
    return []


free_ref_p: ir.Primitive = ir.define(
    "free_ref",
    abstract_eval=lambda ref: [],
    multiple_results=True,
    effects=lambda params: _writing,
    discharge=_free_discharge,
    **_rules,
)
