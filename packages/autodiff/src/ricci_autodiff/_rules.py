"""The tables of derivative rules, and combinators that give a rule from its algebra.

A ``jvp`` rule is called as ``rule(primals, tangents, **params)`` and returns the result and its
tangent; tangents may be ``Zero``. A ``transpose`` rule is called as ``rule(ct, *args, **params)``
where the linear operands are ``UndefinedPrimal``; it returns one cotangent (or ``None``) for each
operand. With several results, ``ct`` and the tangents are lists.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

from ricci_ir import Primitive, derived, rule_table

from ._tangent import Zero, add_tangents, instantiate

jvp_rules = rule_table("jvp")
transpose_rules = rule_table("transpose")
# Only primitives that contain programs need one: by default a rule's jvp is recorded on the tape.
linearize_rules = rule_table("linearize", required=False)
# ``rule(tape, args, **params)`` computes what follows from the operands that are not tangents on
# the tape, and records the rest. Without one, the whole operation is recorded.
split_rules = rule_table("split", required=False)


class UndefinedPrimal:
    """An operand of a transpose rule that the operation is linear in; only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand of a transpose rule is one of the linear ones."""
    return type(x) is UndefinedPrimal


def per_operand(*rules: Callable[..., Any] | None) -> derived:
    """A jvp from partial derivatives: ``rule(t, *primals, **params)`` for each operand.

    ``None`` says that the result does not depend smoothly on that operand.
    """
    return derived(lambda primitive: _per_operand_rule(primitive, rules, with_result=False))


def per_operand_with_result(*rules: Callable[..., Any] | None) -> derived:
    """Like ``per_operand``, with rules ``rule(t, result, *primals, **params)``."""
    return derived(lambda primitive: _per_operand_rule(primitive, rules, with_result=True))


def _per_operand_rule(primitive: Primitive, rules: tuple, with_result: bool):
    def jvp(primals, tangents, **params):
        result = primitive.bind(*primals, **params)
        operands = (result, *primals) if with_result else primals
        terms = [
            rule(tangent, *operands, **params)
            for rule, tangent in zip(rules, tangents, strict=True)
            if rule is not None and type(tangent) is not Zero
        ]
        return result, reduce(add_tangents, terms) if terms else Zero.from_primal(result)

    return jvp


def _linear_jvp(primitive: Primitive):
    def jvp(primals, tangents, **params):
        result = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return result, _zeros_like_result(primitive, result)
        return result, primitive.bind(*map(instantiate, tangents), **params)

    return jvp


def _zeros_like_result(primitive: Primitive, result: Any):
    if primitive.multiple_results:
        return [Zero.from_primal(r) for r in result]
    return Zero.from_primal(result)


# The operation is linear in all its operands together, so that its tangent is itself.
linear = derived(_linear_jvp)


def bilinear(lhs: Callable[..., Any], rhs: Callable[..., Any]) -> dict[str, Any]:
    """The rules ``jvp`` and ``transpose`` of an operation linear in each of two operands.

    Args:
      lhs, rhs: the transposes: ``lhs(ct, x_aval, y, **params)`` gives the cotangent of ``x``,
        ``rhs(ct, x, y_aval, **params)`` that of ``y``.
    """

    def make_jvp(primitive: Primitive):
        return _per_operand_rule(
            primitive,
            (
                lambda t, x, y, **params: primitive.bind(t, y, **params),
                lambda t, x, y, **params: primitive.bind(x, t, **params),
            ),
            with_result=False,
        )

    def transpose(ct, x, y, **params):
        if is_undefined_primal(x):
            return lhs(ct, x.aval, y, **params), None
        return None, rhs(ct, x, y.aval, **params)

    return {"jvp": derived(make_jvp), "transpose": transpose}


def _zero_jvp(primitive: Primitive):
    def jvp(primals, tangents, **params):
        result = primitive.bind(*primals, **params)
        return result, _zeros_like_result(primitive, result)

    return jvp


# The result is locally constant, or discrete: every tangent is zero.
zero_derivative = derived(_zero_jvp)


def _not_linear(primitive: Primitive):
    def transpose(ct, *args, **params):
        raise NotImplementedError(
            f"the transpose of {primitive.name!r} was asked for, but the operation is not linear"
        )

    return transpose


not_linear = derived(_not_linear)
