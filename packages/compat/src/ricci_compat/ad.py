"""Derivative rules, jvp of functions and backward passes of jaxprs: ``jax.interpreters.ad``."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir

from ._rules_in_form import RulesInForm
from .linear_util import WrappedFun, transformation2


def _adapted_transpose(rule: ad.TransposeRule) -> ad.TransposeRule:
    def transpose(ct: object, *operands: object, **params: object) -> Any:
        # Cotangents may be Python or NumPy scalars; such rules read shapes and call methods.
        several = isinstance(ct, list | tuple)
        arrays = [_as_array(c) for c in ct] if several else _as_array(ct)
        return rule(arrays, *operands, **params)

    return transpose


def _as_array(ct: Any) -> Any:
    if type(ct) is ad.Zero or hasattr(type(ct), "aval"):
        return ct
    trace = ir.enclosing(ir.JaxprTrace)
    if trace is not None:
        return trace.lift(ct)
    with ir.set_trace(ir.eval_trace):
        return ir.as_array(ct)


# The rules in the forms in which libraries register them: with tuples of primals and tangents, and
# with cotangents that are arrays.
primitive_jvps: RulesInForm[Callable[..., tuple[Any, Any]]] = RulesInForm(
    ad.jvp_rules,
    lambda rule: (
        lambda primals, tangents, **params: rule(tuple(primals), tuple(tangents), **params)
    ),
    lambda rule: rule,
)
primitive_transposes: RulesInForm[ad.TransposeRule] = RulesInForm(
    ad.transpose_rules, _adapted_transpose, lambda rule: rule
)


def get_primitive_transpose(p: ir.Primitive) -> ad.TransposeRule:
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
    ad.transpose_rules[p]  # raises an error that names the missing rule
    return primitive_transposes[p]


def defjvp(primitive: ir.Primitive, *jvprules: Callable[..., ir.ArrayLike] | None) -> None:
    """Register a jvp rule made of partial derivatives.

    Args:
      primitive: the primitive.
      jvprules: for each operand, ``rule(tangent, *primals, **params)``, which returns its term in
        the result's tangent, or ``None`` if the derivative is zero.
    """
    ad.jvp_rules.define(primitive, ad.per_operand(*jvprules))


def defjvp2(primitive: ir.Primitive, *jvprules: Callable[..., ir.ArrayLike] | None) -> None:
    """Like ``defjvp``, with rules ``rule(tangent, result, *primals, **params)``.

    Args:
      primitive: the primitive.
      jvprules: one for each operand, or ``None``.
    """
    ad.jvp_rules.define(primitive, ad.per_operand_with_result(*jvprules))


def deflinear(primitive: ir.Primitive, transpose_rule: ad.TransposeRule) -> None:
    """Register the rules of a linear primitive.

    Args:
      primitive: the primitive.
      transpose_rule: ``transpose_rule(ct, **params)`` returns the cotangents of the operands.
    """
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def deflinear2(primitive: ir.Primitive, transpose_rule: ad.TransposeRule) -> None:
    """Like ``deflinear``, with the rule ``transpose_rule(ct, *operands, **params)``.

    Args:
      primitive: the primitive.
      transpose_rule: the rule.
    """
    ad.jvp_rules.define(primitive, ad.linear)
    primitive_transposes[primitive] = transpose_rule


def defbilinear(
    prim: ir.Primitive, lhs_rule: Callable[..., ir.ArrayLike], rhs_rule: Callable[..., ir.ArrayLike]
) -> None:
    """Register the rules of a primitive that is linear in each of two operands.

    Args:
      prim: the primitive.
      lhs_rule: ``lhs_rule(ct, x, y, **params)`` returns the cotangent of ``x``, which is an
        ``UndefinedPrimal``.
      rhs_rule: the same for ``y``.
    """

    def transpose(
        ct: ir.ArrayLike, x: object, y: object, **params: object
    ) -> tuple[ad.Tangent | None, ...]:
        if ad.is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    bind = prim.bind
    ad.jvp_rules.define(
        prim,
        ad.per_operand(
            lambda t, x, y, **params: bind(t, y, **params),
            lambda t, x, y, **params: bind(x, t, **params),
        ),
    )
    primitive_transposes[prim] = transpose


def add_jaxvals(x: ir.ArrayLike, y: ir.ArrayLike) -> ir.Array:
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
    return ad.tangent_sum.call(x, y)


def zeros_like_aval(aval: ir.AbstractValue) -> ir.Array:
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
    return ad.zeros_of_type.call(aval)


@transformation2
def _jvp(
    fun: Callable[..., Sequence[ir.ArrayLike]],
    instantiated: bool,
    primals: Sequence[ir.ArrayLike],
    tangents: Sequence[ad.Tangent],
) -> tuple[tuple[ir.ArrayLike, ...], tuple[ad.Tangent, ...]]:
    results, out_tangents = ad.jvp_flat(fun, primals, tangents)
    return tuple(results), tuple(
        map(ad.instantiate, out_tangents) if instantiated else out_tangents
    )


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
    jaxpr: ir.Jaxpr,
    transform_stack: bool,
    consts: Sequence[ir.ArrayLike],
    primals_in: Sequence[ir.ArrayLike | ad.UndefinedPrimal],
    cts_in: Sequence[ad.Tangent],
    *,
    return_logs: bool = False,
) -> list[ad.Tangent]:
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
    linear_args = [ad.is_undefined_primal(x) for x in primals_in]
    cotangents = iter(ad.transpose_flat(jaxpr.with_consts(consts), linear_args, primals_in, cts_in))
    return [
        next(cotangents) if ad.is_undefined_primal(x) else ad.Zero.from_primal(x)  # pyright: ignore
        for x in primals_in
    ]
