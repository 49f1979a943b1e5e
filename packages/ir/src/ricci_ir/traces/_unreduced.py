"""What becomes of sums that the devices have not done yet, along ``Explicit`` axes of a mesh.

A type may say that the devices hold terms of a sum (``f32[8]{U:x}``), or that their cotangents will
be such terms (``f32[8]{R:x}``). No operation communicates for that: what is linear keeps the terms
apart, and ``reshard`` adds them. A primitive's rule of kind ``sums`` says in which operands it is
linear.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

from ricci_ir._errors import ShardingTypeError
from ricci_ir._records import TupleRecord
from ricci_ir.types._aval import AbstractValue
from ricci_ir.types._type_sharding import AxisNames, no_axes

__all__ = [
    "linear_in_all",
    "linear_in_each",
    "SumsOfBlock",
    "SumsRule",
]


class SumsRule(TupleRecord):
    """A rule of kind ``sums``: in which operands an operation may be applied to terms of a sum.

    It must be lowered to one operation: between several, the compiler would have to do the sum, and
    refuses to.

    Attributes:
      terms: ``"all"`` if it is linear in all of its operands together, ``"one"`` if it is linear in
        each of them while the others stay, ``"none"`` if the sum must be done first.
      keeps_reduced: whether the result of operands that are reduced is reduced, too.
    """

    terms: Literal["all", "one", "none"]
    keeps_reduced: bool = True


# Sums, and all that moves elements: the operands are terms of sums over the same axes.
linear_in_all: SumsRule = SumsRule("all")
# Products of elements: one operand is a term, and the others are reduced along its axes.
linear_in_each: SumsRule = SumsRule("one")


# What a block says: a rule, a function of the operands' types and the parameters that gives one, or
# nothing.
type SumsOfBlock = SumsRule | Callable[..., SumsRule | None] | None


def sums_of(aval: AbstractValue) -> tuple[AxisNames, AxisNames]:
    """The ``Explicit`` axes along which values of a type are unreduced and reduced."""
    found = aval.type_sharding
    return (no_axes, no_axes) if found is None else found.sums


def sums_of_result(
    name: str,
    rule: SumsOfBlock,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
) -> tuple[AxisNames, AxisNames] | None:
    """The axes along which a result is unreduced and reduced; ``None`` if no operand is.

    Args:
      name: the operation.
      rule: what its block says by ``sums=``.
      avals: the types of the operands.
      params: the parameters.

    Raises:
      ShardingTypeError: if operands do not go together.
      NotImplementedError: if the operation is none of those that keep terms apart.
    """
    found = [sums_of(aval) for aval in avals]
    unreduced = no_axes.union(*(terms for terms, _ in found))
    reduced = no_axes.union(*(done for _, done in found))
    if not (unreduced or reduced):
        return None
    if callable(rule):
        rule = rule(*avals, **params)
    if unreduced:
        _check_terms(name, rule, avals, found, unreduced)
        return unreduced, reduced - unreduced
    divided: set[Hashable] = set()
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
    return no_axes, no_axes if rule is not None and not rule.keeps_reduced else reduced - divided


def _check_terms(
    name: str,
    rule: SumsRule | None,
    avals: Sequence[AbstractValue],
    found: Sequence[tuple[AxisNames, AxisNames]],
    unreduced: AxisNames,
) -> None:
    """Check that an operation may be applied to terms of a sum."""
    advice = "Do the sum first, with jax.sharding.reshard(x, P(...))."
    if rule is None:
        raise NotImplementedError(
            f"{name} of {_types(avals)}: an operand is unreduced along {_axes(unreduced)}, and "
            f"this operation cannot be applied to the terms of a sum. {advice}"
        )
    if rule.terms == "all":
        if any(terms != unreduced for terms, _ in found):
            raise ShardingTypeError(
                f"{name} of {_types(avals)}: all operands must be unreduced along "
                f"{_axes(unreduced)}, or none. {advice}"
            )
        return
    several = sum(bool(terms) for terms, _ in found) > 1
    if several or rule.terms == "none" or any(unreduced - terms - done for terms, done in found):
        raise ShardingTypeError(
            f"{name} of {_types(avals)}: an operand is unreduced along {_axes(unreduced)}; the "
            f"other must be reduced along it, and the operation a product of elements. {advice}"
        )


def _axes(names: AxisNames) -> str:
    return ", ".join(sorted(map(repr, names)))


def _types(avals: Sequence[AbstractValue]) -> str:
    return ", ".join(aval.str_short(True) for aval in avals)
