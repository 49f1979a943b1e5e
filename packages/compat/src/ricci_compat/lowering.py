"""Lowering rules: the registering functions of ``jax.interpreters.mlir``.

Such a rule is called as ``rule(ctx, *operands, **params)`` and returns a list of values. A rule
made by ``lower_fun`` writes StableHLO text, like Ricci's rules. Any other rule builds MLIR objects:
``mlir`` runs it, and the operations that it built become a function of the module.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
import ricci_stablehlo as hlo
from ricci_lax import pure_callback


class TracedRule:
    """A lowering rule that traces a function of arrays and writes its operations; ``lower_fun``."""

    __slots__ = ("fun", "multiple_results")

    def __init__(self, fun: Callable[..., Any], multiple_results: bool):
        self.fun: Callable[..., Any] = fun
        self.multiple_results: bool = multiple_results

    def jaxpr(self, avals: Sequence[ir.AbstractValue], params: dict[str, Any]) -> ir.Jaxpr:
        """Return the jaxpr of the function for operands of these types."""

        def flat(*args: object) -> Sequence[Any]:
            result = self.fun(*args, **params)
            return result if self.multiple_results else [result]

        return ir.trace_to_jaxpr(flat, avals)

    def __call__(self, ctx: Any, *operands: Any, **params: Any) -> list[Any]:
        """Write the operations; ``ctx`` is the context of the rule that is running.

        With the context of a rule that builds MLIR objects, operands and results are MLIR values.
        """
        avals: list[Any] = [getattr(x, "aval", None) for x in operands]
        if None in avals:  # MLIR values have no abstract types
            avals = ctx.avals_in
        return ctx.inline(self.jaxpr(avals, params), operands)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> TracedRule:
    """Make a lowering rule that writes the operations of a function of arrays.

    Args:
      fun: ``fun(*arrays, **params)``.
      multiple_results: whether it returns a sequence of arrays instead of one array.

    Returns:
      The rule.

    Example:
      A primitive that is lowered as a function of arrays:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.extend.core import Primitive
      >>> from ricci.interpreters import mlir
      >>> double = Primitive("double_of_mine")
      >>> _ = double.def_abstract_eval(lambda x: x)
      >>> mlir.register_lowering(double, mlir.lower_fun(lambda x: 2 * x, multiple_results=False))
      >>> float(ricci.jit(double.bind)(3.0))
      6.0
    """
    return TracedRule(fun, multiple_results)


# Registered rules, by platform; the platform None is the default.
_rules: dict[ir.Primitive, dict[str | None, Callable[..., Any]]] = {}
# Ricci's rules of the primitives in _rules.
_builtin_rules: dict[ir.Primitive, hlo.LoweringRule] = {}


def register_lowering(
    prim: ir.Primitive,
    rule: Callable[..., Any],
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Register the lowering rule of a primitive.

    Args:
      prim: the primitive.
      rule: ``rule(ctx, *operands, **params)``; ``lower_fun`` makes one from a function of arrays.
      platform: ``cpu``, ``cuda``, ``rocm``, ``gpu`` (``cuda`` and ``rocm``) or ``tpu``; by default
        all platforms without a rule.
      inline, cacheable: accepted for compatibility, and ignored.

    Example:
      >>> import ricci
      >>> from ricci.extend.core import Primitive
      >>> from ricci.interpreters import mlir
      >>> half = Primitive("half_of_mine")
      >>> _ = half.def_abstract_eval(lambda x: x)
      >>> mlir.register_lowering(half, mlir.lower_fun(lambda x: x / 2, multiple_results=False))
      >>> float(ricci.jit(half.bind)(3.0))
      1.5
    """
    # Saved at the first registration only: later, lower_rules has the function below. The builtin
    # rule still serves platforms for which the library registers none.
    if prim not in _rules and prim in hlo.lower_rules:
        _builtin_rules[prim] = hlo.lower_rules[prim]
    rules = _rules.setdefault(prim, {})
    for name in ("cuda", "rocm") if platform == "gpu" else (platform,):
        rules[name] = rule
    hlo.lower_rules[prim] = lambda ctx, *operands, **params: _lower(prim, ctx, operands, params)
    # An operation with ordered effects needs tokens; program primitives thread them through their
    # jaxpr, and builtin ones have an order rule. Only a library's own primitive is left.
    if prim not in hlo.order_rules and prim not in ir.program_rules:
        hlo.order_rules[prim] = _ordered


# An operation of a library with tokens ahead of its operands and results.
_ordered_operation = ir.Primitive("ordered", multiple_results=True)


def _ordered(
    eqn: ir.JaxprEqn, effects: tuple[ir.Effect, ...], tokens: list[ir.Var]
) -> tuple[list[ir.JaxprEqn], list[ir.Var]]:
    """Thread tokens through an operation of a library (an order rule)."""
    params = {"primitive": eqn.primitive, "params": eqn.params, "effects": effects}
    return hlo.with_tokens(eqn, _ordered_operation, params, tokens, 0)


def _run_mlir_rule(*args: Any) -> list[hlo.Value]:
    from ricci_compat import mlir  # noqa: PLC0415 - lazy: most libraries build no MLIR objects

    return mlir.run_mlir_rule(*args)


def _lower_ordered(
    ctx: hlo.Lowering,
    *operands: hlo.Value,
    primitive: ir.Primitive,
    params: dict[str, Any],
    effects: tuple[ir.Effect, ...],
) -> Sequence[hlo.Value]:
    rule = _rule(primitive, ctx.platform)
    if isinstance(rule, TracedRule):
        # The tokens come first in operands and results, one for each effect.
        jaxpr = rule.jaxpr([x.aval for x in operands[len(effects) :]], params)
        return ctx.inline(hlo.thread_tokens(jaxpr, effects), operands)
    return _run_mlir_rule(rule, primitive, ctx, operands, params, effects)


hlo.lower_rules[_ordered_operation] = _lower_ordered


def _rule(primitive: ir.Primitive, platform: str) -> Callable[..., Any]:
    """Return the rule registered for a platform.

    Raises:
      NotImplementedError: if there is none.
    """
    rules = _rules[primitive]
    rule = rules.get(platform, rules.get(None))
    if rule is None:
        raise NotImplementedError(
            f"primitive {primitive.name!r} has no lowering rule for {platform}: "
            f"there is one for {', '.join(map(str, rules))}"
        )
    return rule


def _lower(
    primitive: ir.Primitive,
    ctx: hlo.Lowering,
    operands: Sequence[hlo.Value],
    params: dict[str, Any],
) -> hlo.Value | Sequence[hlo.Value]:
    rules = _rules[primitive]
    # A rule without a platform replaces the builtin one everywhere; a rule for one platform only
    # there.
    if primitive in _builtin_rules and None not in rules and ctx.platform not in rules:
        return _builtin_rules[primitive](ctx, *operands, **params)
    rule = _rule(primitive, ctx.platform)
    if isinstance(rule, TracedRule):
        results = rule(ctx, *operands, **params)
    else:
        results = _run_mlir_rule(rule, primitive, ctx, operands, params, ())
    return results if primitive.multiple_results else results[0]


def emit_python_callback(
    ctx: object,
    callback: Callable[..., Sequence[Any]],
    token: object,
    operands: Sequence[Any],
    operand_avals: Sequence[ir.ShapedArray],
    result_avals: Sequence[ir.ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: object = None,
) -> tuple[list[Any], None, None]:
    """Emit a call of a Python function in a lowering rule.

    Args:
      ctx: the rule's lowering context.
      callback: called with NumPy arrays; returns a sequence of arrays.
      token, has_side_effect: must be ``None`` and false.
      operands: MLIR values.
      operand_avals, result_avals: the types of operands and results.
      returns_token, partitioned, sharding: not needed.

    Returns:
      The results, ``None`` for the token, and ``None`` for objects to keep alive: the executable
      references the function.

    Raises:
      NotImplementedError: for a function with side effects.

    Example:
      >>> from ricci.interpreters.mlir import emit_python_callback
      >>> def rule(ctx, x):
      ...     call = lambda x: (x + 1,)
      ...     options = {"has_side_effect": False}
      ...     return emit_python_callback(
      ...         ctx, call, None, [x], ctx.avals_in, ctx.avals_out, **options
      ...     )[0]
    """
    if token is not None or has_side_effect:
        raise NotImplementedError(
            "emit_python_callback calls functions without side effects only. Define the primitive "
            "by io_callback in mlir.lower_fun: that orders its effects, too."
        )
    # The structures of result and declaration must agree: pure_callback compares pytrees, and a
    # list is not a tuple.
    tupled = lambda *xs: tuple(callback(*xs))
    call = lambda *xs: list(pure_callback(tupled, tuple(result_avals), *xs))
    return lower_fun(call)(ctx, *operands), None, None
