"""Propagation of unreduced (partial-sum) shardings through linear primitives.

Along an ``Explicit`` mesh axis a type may be unreduced (``f32[8]{U:x}``): each device holds a term
of a sum. It may be reduced (``f32[8]{R:x}``): its cotangent is unreduced. No operation communicates
for that: a linear one is applied to the terms, and ``reshard`` adds them. A primitive's rule of
kind ``sums`` specifies the operands in which it is linear.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

from ricci_ir._errors import ShardingTypeError
from ricci_ir._records import TupleRecord
from ricci_ir.types import AbstractValue, AxisNames, no_axes

__all__ = ["linear_in_all", "linear_in_each", "SumsOfBlock", "SumsRule"]


class SumsRule(TupleRecord):
    """A rule of kind ``sums``: the operands of an operation that may be unreduced.

    It must be lowered to a single operation: between several, the compiler would have to compute
    the sum, and refuses to.

    Attributes:
      terms: ``"all"`` if it is linear in all of its operands together, ``"one"`` if it is linear in
        each of them with the others fixed, ``"first"`` if in the first of them with the others
        fixed, ``"none"`` if no operand may be unreduced.
      keeps_reduced: whether the result of reduced operands is reduced.
      needs_reduced: whether all operands must be reduced, or sharded, along an axis where one is.
      beside: the first and last positions, as a slice, of operands that choose elements, such as
        indices and predicates: their shardings do not matter.
    """

    terms: Literal["all", "one", "first", "none"]
    keeps_reduced: bool = True
    needs_reduced: bool = True
    beside: slice = slice(0, 0)


# Sums, and operations that move elements: all operands are unreduced over the same axes.
linear_in_all: SumsRule = SumsRule("all")
# Products of elements: one operand is unreduced, and the others are reduced along its axes.
linear_in_each: SumsRule = SumsRule("one")


# A primitive's ``sums``: a rule, a function of the operands' types and the parameters that returns
# one, or None.
type SumsOfBlock = SumsRule | Callable[..., SumsRule | None] | None


def sums_of(aval: AbstractValue) -> tuple[AxisNames, AxisNames]:
    """Return the ``Explicit`` axes along which values of a type are unreduced and reduced."""
    sharding = aval.type_sharding
    return (no_axes, no_axes) if sharding is None else sharding.sums


def sums_of_result(
    name: str, rule: SumsOfBlock, avals: Sequence[AbstractValue], params: dict[str, Any]
) -> tuple[AxisNames, AxisNames] | None:
    """Return the axes along which a result is unreduced and reduced; ``None`` if no operand is.

    Args:
      name: the operation.
      rule: the ``sums`` of its block.
      avals: the types of the operands.
      params: the parameters.

    Raises:
      ShardingTypeError: if the operands do not match.
      NotImplementedError: if an operand is unreduced and the operation has no ``sums`` rule.
    """
    if callable(rule):
        rule = rule(*avals, **params)
    choosing: Sequence[AbstractValue] = ()
    if rule is not None and rule.beside != slice(0, 0):
        choosing = avals[rule.beside]
        avals = [aval for i, aval in enumerate(avals) if i not in range(len(avals))[rule.beside]]
    operand_axes = [sums_of(aval) for aval in avals]
    unreduced = no_axes.union(*(terms for terms, _ in operand_axes))
    reduced = no_axes.union(*(done for _, done in operand_axes))
    if not (unreduced or reduced):
        return None
    if unreduced:
        _check_terms(name, rule, avals, operand_axes, unreduced)
        # A product of an unreduced and a reduced operand is unreduced: sum(t_i) * y = sum(t_i * y).
        return unreduced, reduced - unreduced
    # Where another operand is sharded over a reduced axis, so is the result, instead of reduced.
    sharded: set[Hashable] = {
        n for aval in choosing for part in getattr(aval.type_sharding, "parts", ()) for n in part
    }
    for aval, (_, done) in zip(avals, operand_axes, strict=True):
        parts = {n for part in getattr(aval.type_sharding, "parts", ()) for n in part}
        sharded |= parts
        wrong = reduced - done - parts
        if wrong and getattr(aval, "ndim", 0) and (rule is None or rule.needs_reduced):
            raise ShardingTypeError(
                f"{name} of {_types(avals)}: an operand is reduced along {_axes(wrong)}, so the "
                "others must be reduced along it as well, or sharded over it. Call "
                f"jax.sharding.reshard(x, P(..., reduced={{{_axes(wrong)}}})), or reshard the "
                "first to a sharding without reduced."
            )
    return no_axes, no_axes if rule is not None and not rule.keeps_reduced else reduced - sharded


def _check_terms(
    name: str,
    rule: SumsRule | None,
    avals: Sequence[AbstractValue],
    operand_axes: Sequence[tuple[AxisNames, AxisNames]],
    unreduced: AxisNames,
) -> None:
    """Check that an operation may be applied to unreduced operands."""
    advice = "Compute the sum first, with jax.sharding.reshard(x, P(...))."
    if rule is None or rule.terms == "none" and len(avals) == 1:
        raise NotImplementedError(
            f"{name} of {_types(avals)}: an operand is unreduced along {_axes(unreduced)}, and "
            f"this operation cannot be applied to the terms of a sum. {advice}"
        )
    if rule.terms == "all":
        if any(terms != unreduced for terms, _ in operand_axes):
            raise ShardingTypeError(
                f"{name} of {_types(avals)}: all operands must be unreduced along "
                f"{_axes(unreduced)}, or none. {advice}"
            )
        return
    # Of a product, one operand may be unreduced: sum(t_i) * y is the sum of t_i * y, where y is the
    # same on all devices (reduced, or a scalar). Of two unreduced operands the terms would have to
    # be multiplied crosswise, and a quotient may have terms in its numerator alone.
    several = sum(bool(terms) for terms, _ in operand_axes) > 1
    unmatched = any(
        unreduced - terms - done and getattr(aval, "ndim", 0)
        for aval, (terms, done) in zip(avals, operand_axes, strict=True)
    )
    misplaced = rule.terms == "none" or rule.terms == "first" and not operand_axes[0][0]
    if several or misplaced or unmatched:
        raise ShardingTypeError(
            f"{name} of {_types(avals)}: an operand is unreduced along {_axes(unreduced)}; the "
            f"other must be reduced along it, and the operation a product of elements. {advice}"
        )


def _axes(names: AxisNames) -> str:
    return ", ".join(sorted(map(repr, names)))


def _types(avals: Sequence[AbstractValue]) -> str:
    return ", ".join(aval.str_short(True) for aval in avals)
