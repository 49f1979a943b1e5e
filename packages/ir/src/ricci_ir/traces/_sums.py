"""What becomes of sums that the devices have not done yet, along ``Explicit`` axes of a mesh.

A type may say that the devices hold terms of a sum (``f32[8]{U:x}``), or that their cotangents will
be such terms (``f32[8]{R:x}``). No operation communicates for that: what is linear keeps the terms
apart, and ``reshard`` adds them.
"""

from collections.abc import Sequence
from typing import Any

from ricci_ir._errors import ShardingTypeError
from ricci_ir.types._type_sharding import AxisNames, no_axes

# Operations that may be done before a sum as well as after it: in all operands together,
_TOGETHER = frozenset({"add", "add_any", "sub", "concatenate", "stack"})
# and in the one operand that they have.
_ALONE = frozenset(
    {
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "copy_p",
        "cumsum",
        "expand_dims",
        "imag",
        "neg",
        "real",
        "reduce_sum",
        "reshape",
        "rev",
        "slice",
        "squeeze",
        "transpose",
    }
)


def sums_of(aval: Any) -> tuple[AxisNames, AxisNames]:
    """The ``Explicit`` axes along which values of a type are unreduced and reduced."""
    found = aval.type_sharding
    return (no_axes, no_axes) if found is None else found.sums


def sums_of_result(name: str, avals: Sequence[Any]) -> tuple[AxisNames, AxisNames] | None:
    """The axes along which a result is unreduced and reduced; ``None`` if no operand is.

    Args:
      name: the operation.
      avals: the types of the operands.

    Raises:
      ShardingTypeError: if operands do not go together.
      NotImplementedError: if the operation is none of those that keep terms apart.
    """
    found = [sums_of(aval) for aval in avals]
    unreduced = no_axes.union(*(terms for terms, _ in found))
    reduced = no_axes.union(*(done for _, done in found))
    if not (unreduced or reduced):
        return None
    if unreduced:
        _check_terms(name, avals, found, unreduced)
        return unreduced, reduced - unreduced
    divided: set[Any] = set()
    for aval, (_, done) in zip(avals, found, strict=True):
        parts = {n for part in getattr(aval.type_sharding, "parts", ()) for n in part}
        divided |= parts
        wrong = reduced - done - parts
        if wrong and getattr(aval, "ndim", 0):
            raise ShardingTypeError(
                f"{name} of {_types(avals)}: an operand is reduced along {_axes(wrong)}, so the "
                "others must be, too, or be divided over it. Say so with "
                f"jax.sharding.reshard(x, P(..., reduced={{{_axes(wrong)}}})), or move the first "
                "to a sharding without reduced."
            )
    return no_axes, no_axes if name == "dot_general" else reduced - divided


def _check_terms(
    name: str, avals: Sequence[Any], found: Sequence[Any], unreduced: AxisNames
) -> None:
    """Check that an operation may be applied to terms of a sum."""
    with_terms = [terms for terms, _ in found if terms]
    advice = "Do the sum first, with jax.sharding.reshard(x, P(...))."
    if name == "mul" and len(with_terms) == 1 and all(unreduced <= (t | d) for t, d in found):
        return
    if name in ("mul", "div", "dot_general"):
        raise ShardingTypeError(
            f"{name} of {_types(avals)}: an operand is unreduced along {_axes(unreduced)}; the "
            f"other must be reduced along it, and the operation a product of elements. {advice}"
        )
    if name in _TOGETHER:
        if any(terms != unreduced for terms, _ in found):
            raise ShardingTypeError(
                f"{name} of {_types(avals)}: all operands must be unreduced along "
                f"{_axes(unreduced)}, or none. {advice}"
            )
        return
    if name not in _ALONE:
        raise NotImplementedError(
            f"{name} of {_types(avals)}: an operand is unreduced along {_axes(unreduced)}, and "
            f"this operation cannot be applied to the terms of a sum. {advice}"
        )


def _axes(names: AxisNames) -> str:
    return ", ".join(sorted(map(repr, names)))


def _types(avals: Sequence[Any]) -> str:
    return ", ".join(aval.str_short(True) for aval in avals)
