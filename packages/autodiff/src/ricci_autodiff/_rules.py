"""Tables of derivative rules, and combinators that derive a rule from an operation's algebra.

A ``jvp`` rule is called as ``rule(primals, tangents, **params)`` and returns the result and its
tangent. Tangents may be ``Zero``. A ``transpose`` rule is called as ``rule(ct, *args, **params)``:
``ct`` is the cotangent of the result, and the operands that the operation is linear in are
``UndefinedPrimal``. It returns a list with one cotangent, or ``None``, for each operand. With
several results, ``ct`` and the tangents of the result are lists.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import reduce
from typing import Any, TypeGuard

import ricci_ir as ir

from ._tangent import Tangent, Zero, add_tangents, instantiate

__all__ = ["TransposeRule", "UndefinedPrimal", "bilinear", "is_undefined_primal", "jvp_rules"]
__all__ += ["linear", "linearize_rules", "not_linear", "per_operand", "per_operand_with_result"]
__all__ += ["ruled_programs", "split_rules", "transpose_rules", "required_operands"]
__all__ += ["zero_derivative"]

# ``rule(primals, tangents, **params)`` returns the results and their tangents. A trace applies the
# primitive itself, without its rule, where all tangents are ``Zero``: a rule of one operand always
# gets an array as the tangent, and a rule of several operands gets at least one.
jvp_rules: ir.RuleTable = ir.rule_table("jvp")
transpose_rules: ir.RuleTable = ir.rule_table("transpose")
# A transpose rule is not called if all cotangents are zero, since its results would be zero. A rule
# written by a user may return something else (statistics passed as cotangents): if the entry of
# this table is ``True``, the rule is called with ``Zero``s, too.
transposes_zeros: ir.RuleTable = ir.rule_table("transposes_zeros", required=False)
# ``rule(tape, primals, tangents, **params)`` computes the results and records their tangents. Only
# primitives that contain jaxprs need one: by default the jvp rule runs under the tape.
linearize_rules: ir.RuleTable = ir.rule_table("linearize", required=False)
# ``rule(tape, args, **params)`` computes the part that depends on no tangent of the tape at once,
# and records the other part. Without a rule, the whole operation is recorded.
split_rules: ir.RuleTable = ir.rule_table("split", required=False)

type JvpRule = Callable[..., tuple[Any, Any]]


class Algebra(Enum):
    """The algebraic property of an operation from which a combinator derived its jvp rule."""

    LINEAR = auto()  # in all operands together
    BILINEAR = auto()  # in each of two operands
    CONSTANT = auto()  # its derivative is zero


algebra_of: dict[JvpRule, Algebra] = {}

type TransposeRule = Callable[..., Sequence[Tangent | None]]


class UndefinedPrimal:
    """An operand of a transpose rule that the operation is linear in; only its type is known.

    Args:
      aval: the type.
      required: whether its cotangent is used. A rule may return ``None`` for one that is not.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.interpreters.ad import UndefinedPrimal, is_undefined_primal
      >>> is_undefined_primal(UndefinedPrimal(ShapedArray((2,), "float32")))
      True
    """

    __slots__ = ("aval", "required")

    def __init__(self, aval: ir.AbstractValue, required: bool = True):
        self.aval: ir.ShapedArray = aval  # pyright: ignore[reportAttributeAccessIssue]
        self.required: bool = required

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: object) -> TypeGuard[UndefinedPrimal]:
    """Whether an operand of a transpose rule is one that the operation is linear in.

    Args:
      x: the operand.

    Returns:
      A bool.

    Example:
      >>> from ricci.interpreters.ad import is_undefined_primal
      >>> is_undefined_primal(3.0)
      False
    """
    return type(x) is UndefinedPrimal


def required_operands(operands: Sequence[object]) -> tuple[bool, ...] | None:
    """For each linear operand of a transpose rule, whether it is required; ``None`` if all are."""
    required = tuple(x.required for x in operands if type(x) is UndefinedPrimal)
    return None if all(required) else required


def per_operand(*rules: Callable[..., ir.ArrayLike] | None) -> ir.derived:
    """A jvp rule from partial derivatives, one for each operand.

    Args:
      rules: ``rule(tangent, *primals, **params)`` returns the term of that operand in the result's
        tangent. ``None`` if the derivative with respect to the operand is zero.

    Returns:
      The rule, for ``define``.
    """
    return ir.derived(lambda primitive: _per_operand_rule(primitive, rules, with_result=False))


def per_operand_with_result(*rules: Callable[..., ir.ArrayLike] | None) -> ir.derived:
    """Like ``per_operand``, with rules ``rule(tangent, result, *primals, **params)``.

    Args:
      rules: one for each operand, or ``None``.

    Returns:
      The rule, for ``define``.
    """
    return ir.derived(lambda primitive: _per_operand_rule(primitive, rules, with_result=True))


def _per_operand_rule(
    primitive: ir.Primitive, rules: Sequence[Callable[..., ir.ArrayLike] | None], with_result: bool
) -> JvpRule:
    def jvp(
        primals: Sequence[ir.ArrayLike], tangents: Sequence[Tangent], **params: object
    ) -> tuple[Any, Tangent]:
        result = primitive.bind(*primals, **params)
        operands = (result, *primals) if with_result else primals
        terms = [
            rule(tangent, *operands, **params)
            for rule, tangent in zip(rules, tangents, strict=True)
            if rule is not None and type(tangent) is not Zero
        ]
        return result, reduce(add_tangents, terms) if terms else Zero.from_primal(result)

    return jvp


def _linear_jvp(primitive: ir.Primitive) -> JvpRule:
    def jvp(
        primals: Sequence[ir.ArrayLike], tangents: Sequence[Tangent], **params: object
    ) -> tuple[Any, Any]:
        result = primitive.bind(*primals, **params)
        # The operation is linear in its operands jointly, so a zero tangent beside a nonzero one
        # (as in a concatenation) must be an array.
        return result, primitive.bind(*map(instantiate, tangents), **params)

    algebra_of[jvp] = Algebra.LINEAR
    return jvp


def _zeros_like_result(primitive: ir.Primitive, result: Any) -> Zero | list[Zero]:
    if primitive.multiple_results:
        return [Zero.from_primal(r) for r in result]
    return Zero.from_primal(result)


# For an operation that is linear in all its operands together: the tangent of the result is the
# operation applied to the tangents.
linear: ir.derived = ir.derived(_linear_jvp)


def bilinear(lhs: Callable[..., ir.ArrayLike], rhs: Callable[..., ir.ArrayLike]) -> dict[str, Any]:
    """The ``jvp`` and ``transpose`` rules of an operation that is linear in each of two operands.

    Args:
      lhs, rhs: ``lhs(ct, x_aval, y, **params)`` returns the cotangent of the first operand,
        ``rhs(ct, x, y_aval, **params)`` that of the second.

    Returns:
      The two rules by name, for ``define``.
    """

    def make_jvp(primitive: ir.Primitive) -> JvpRule:
        jvp = _per_operand_rule(
            primitive,
            (
                lambda t, x, y, **params: primitive.bind(t, y, **params),
                lambda t, x, y, **params: primitive.bind(x, t, **params),
            ),
            with_result=False,
        )
        algebra_of[jvp] = Algebra.BILINEAR
        return jvp

    def transpose(ct: ir.ArrayLike, x: Any, y: Any, **params: Any) -> tuple[Tangent | None, ...]:
        # A product of two linear operands would not be linear, so exactly one of them is undefined.
        if is_undefined_primal(x):
            return lhs(ct, x.aval, y, **params), None
        return None, rhs(ct, x, y.aval, **params)

    return {"jvp": ir.derived(make_jvp), "transpose": transpose}


def _zero_jvp(primitive: ir.Primitive) -> JvpRule:
    def jvp(
        primals: Sequence[ir.ArrayLike], tangents: Sequence[Tangent], **params: object
    ) -> tuple[Any, Any]:
        result = primitive.bind(*primals, **params)
        return result, _zeros_like_result(primitive, result)

    algebra_of[jvp] = Algebra.CONSTANT
    return jvp


# For an operation whose result is locally constant (``floor``) or discrete (``argmax``).
zero_derivative: ir.derived = ir.derived(_zero_jvp)


def _not_linear(primitive: ir.Primitive) -> TransposeRule:
    def transpose(ct: object, *args: object, **params: object) -> Sequence[Tangent | None]:
        raise NotImplementedError(
            f"The transpose of {primitive.name!r} is not defined: the operation is not linear."
        )

    return transpose


# For an operation that is linear in none of its operands, and so has no transpose.
not_linear: ir.derived = ir.derived(_not_linear)

# The primitives that call a function with a derivative rule, and a function that returns the jaxpr
# that an equation with these parameters calls.
ruled_programs: dict[ir.Primitive, Callable[[dict[str, Any]], ir.Jaxpr]] = {}


def params_without_rules(params: dict[str, Any]) -> dict[str, Any]:
    """Inline the functions with rules in the jaxprs among an equation's parameters."""
    if not any(map(_has_rules, ir.jaxprs_in_params(params))):
        return params
    return {name: _value_without_rules(value) for name, value in params.items()}


def _value_without_rules(value: Any) -> Any:
    if isinstance(value, ir.Jaxpr):
        return without_rules(value)
    if type(value) in (tuple, list):
        return type(value)(map(_value_without_rules, value))
    return value


def _has_rules(jaxpr: ir.Jaxpr) -> bool:
    return jaxpr.derived("has rules", lambda: any(map(_uses_rules, jaxpr.eqns)))


def _uses_rules(eqn: ir.JaxprEqn) -> bool:
    return eqn.primitive in ruled_programs or any(map(_has_rules, ir.jaxprs_in_params(eqn.params)))


def without_rules(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Inline the functions with rules in a jaxpr; cached on the jaxpr."""
    if not _has_rules(jaxpr):
        return jaxpr
    run = lambda *args: ir.interpret(jaxpr, args, _apply_without_rules)
    return jaxpr.derived(
        "without rules", lambda: ir.trace_to_jaxpr(run, jaxpr.in_avals, jaxpr.debug_info)
    )


def _apply_without_rules(eqn: ir.JaxprEqn, operands: list[Any]) -> list[Any]:
    function = ruled_programs.get(eqn.primitive)
    if function is not None:
        plain = without_rules(function(eqn.params))
        return ir.eval_jaxpr(plain, plain.consts, *operands)
    results = eqn.primitive.bind(*operands, **params_without_rules(eqn.params))
    return results if eqn.primitive.multiple_results else [results]
