"""Derivative rules, jvp of functions and backward passes of jaxprs: ``jax.interpreters.ad``."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_autodiff import (
    Tangent,
    TransposeRule,
    UndefinedPrimal,
    Zero,
    instantiate,
    is_undefined_primal,
    jvp_flat,
    jvp_rules,
    linear,
    per_operand,
    per_operand_with_result,
    tangent_sum,
    transpose_flat,
    transpose_rules,
    zeros_of_type,
)
from ricci_ir import (
    AbstractValue,
    Array,
    ArrayLike,
    Jaxpr,
    JaxprTrace,
    Primitive,
    as_array,
    enclosing,
    eval_trace,
    set_trace,
)

from ._rules_in_form import RulesInForm
from .linear_util import WrappedFun, transformation2


def _adapted_transpose(rule: TransposeRule) -> TransposeRule:
    def transpose(ct: object, *operands: object, **params: object) -> Any:
        # Cotangents may be Python or NumPy scalars; such rules read shapes and call methods.
        several = isinstance(ct, list | tuple)
        arrays = [_as_array(c) for c in ct] if several else _as_array(ct)
        return rule(arrays, *operands, **params)

    return transpose


def _as_array(ct: Any) -> Any:
    if type(ct) is Zero or hasattr(type(ct), "aval"):
        return ct
    trace = enclosing(JaxprTrace)
    if trace is not None:
        return trace.lift(ct)
    with set_trace(eval_trace):
        return as_array(ct)


# The rules in the forms in which libraries register them: with tuples of primals and tangents, and
# with cotangents that are arrays.
primitive_jvps: RulesInForm[Callable[..., tuple[Any, Any]]] = RulesInForm(
    jvp_rules,
    lambda rule: (
        lambda primals, tangents, **params: rule(tuple(primals), tuple(tangents), **params)
    ),
    lambda rule: rule,
)
primitive_transposes: RulesInForm[TransposeRule] = RulesInForm(
    transpose_rules, _adapted_transpose, lambda rule: rule
)


def get_primitive_transpose(p: Primitive) -> TransposeRule:
    """Return the transpose rule of a primitive.

    Args:
      p: the primitive.

    Returns:
      The rule, a function.

    Raises:
      NotImplementedError: if it has none.

    Example:
      >>> from ricci import lax
      >>> from ricci.interpreters.ad import get_primitive_transpose
      >>> callable(get_primitive_transpose(lax.neg_p))
      True
    """
    transpose_rules[p]  # raises an error that names the missing rule
    return primitive_transposes[p]


def defjvp(primitive: Primitive, *jvprules: Callable[..., ArrayLike] | None) -> None:
    """Register a jvp rule made of partial derivatives.

    Args:
      primitive: the primitive.
      jvprules: for each operand, ``rule(tangent, *primals, **params)``, which returns its term in
        the result's tangent, or ``None`` if the derivative is zero.
    """
    jvp_rules.define(primitive, per_operand(*jvprules))


def defjvp2(primitive: Primitive, *jvprules: Callable[..., ArrayLike] | None) -> None:
    """Like ``defjvp``, with rules ``rule(tangent, result, *primals, **params)``.

    Args:
      primitive: the primitive.
      jvprules: one for each operand, or ``None``.
    """
    jvp_rules.define(primitive, per_operand_with_result(*jvprules))


def deflinear(primitive: Primitive, transpose_rule: TransposeRule) -> None:
    """Register the rules of a linear primitive.

    Args:
      primitive: the primitive.
      transpose_rule: ``transpose_rule(ct, **params)`` returns the cotangents of the operands.
    """
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: TransposeRule) -> None:
    """Like ``deflinear``, with the rule ``transpose_rule(ct, *operands, **params)``.

    Args:
      primitive: the primitive.
      transpose_rule: the rule.
    """
    jvp_rules.define(primitive, linear)
    primitive_transposes[primitive] = transpose_rule


def defbilinear(
    prim: Primitive, lhs_rule: Callable[..., ArrayLike], rhs_rule: Callable[..., ArrayLike]
) -> None:
    """Register the rules of a primitive that is linear in each of two operands.

    Args:
      prim: the primitive.
      lhs_rule: ``lhs_rule(ct, x, y, **params)`` returns the cotangent of ``x``, which is an
        ``UndefinedPrimal``.
      rhs_rule: the same for ``y``.
    """

    def transpose(
        ct: ArrayLike, x: object, y: object, **params: object
    ) -> tuple[Tangent | None, ...]:
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    bind = prim.bind
    jvp_rules.define(
        prim,
        per_operand(
            lambda t, x, y, **params: bind(t, y, **params),
            lambda t, x, y, **params: bind(x, t, **params),
        ),
    )
    primitive_transposes[prim] = transpose


def add_jaxvals(x: ArrayLike, y: ArrayLike) -> Array:
    """The sum of two tangents.

    Args:
      x, y: arrays of one type.

    Returns:
      An array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.interpreters.ad import add_jaxvals
      >>> add_jaxvals(jnp.ones(2), jnp.ones(2)).tolist()
      [2.0, 2.0]
    """
    return tangent_sum.call(x, y)


def zeros_like_aval(aval: AbstractValue) -> Array:
    """An array of zeros of a type.

    Args:
      aval: the type.

    Returns:
      An array.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.interpreters.ad import zeros_like_aval
      >>> zeros_like_aval(ShapedArray((2,), "float32")).tolist()
      [0.0, 0.0]
    """
    return zeros_of_type.call(aval)


@transformation2
def _jvp(
    fun: Callable[..., Sequence[ArrayLike]],
    instantiated: bool,
    primals: Sequence[ArrayLike],
    tangents: Sequence[Tangent],
) -> tuple[tuple[ArrayLike, ...], tuple[Tangent, ...]]:
    results, out_tangents = jvp_flat(fun, primals, tangents)
    return tuple(results), tuple(map(instantiate, out_tangents) if instantiated else out_tangents)


def jvp_fun(fun: WrappedFun, instantiate: bool = True) -> WrappedFun:
    """Return the forward-mode derivative of a function.

    Args:
      fun: takes and returns flat sequences of arrays.
      instantiate: whether tangents of the results that are ``Zero`` become arrays.

    Returns:
      A function of two sequences, primals and tangents, that returns two tuples, the results and
      their tangents.
    """
    return _jvp(fun, instantiate)


def backward_pass(
    jaxpr: Jaxpr,
    transform_stack: bool,
    consts: Sequence[ArrayLike],
    primals_in: Sequence[ArrayLike | UndefinedPrimal],
    cts_in: Sequence[Tangent],
    *,
    return_logs: bool = False,
) -> list[Tangent]:
    """Pull cotangents back through a jaxpr.

    Args:
      jaxpr: the jaxpr, linear in the arguments that are ``UndefinedPrimal``.
      transform_stack, return_logs: accepted for compatibility, and ignored.
      consts: the values of its constants.
      primals_in: the arguments.
      cts_in: the cotangents of the results.

    Returns:
      A cotangent, or ``Zero``, for each argument.
    """
    linear_args = [is_undefined_primal(x) for x in primals_in]
    cotangents = iter(transpose_flat(jaxpr.with_consts(consts), linear_args, primals_in, cts_in))
    return [
        next(cotangents) if is_undefined_primal(x) else Zero.from_primal(x)  # pyright: ignore
        for x in primals_in
    ]
