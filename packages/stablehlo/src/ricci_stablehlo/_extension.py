"""Lowering rules in the form in which libraries written for JAX register them.

Such a rule is called as ``rule(ctx, *operands, **params)`` and returns a list of values. A rule
made by ``lower_fun`` writes StableHLO text, as Ricci's own rules do. Any other rule builds MLIR
objects. A runtime that has MLIR calls it (``mlir_rules``), and the operations that it built become
a function of the module.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ricci_ir import AbstractValue, Jaxpr, Primitive, trace_to_jaxpr

from ._lowering import Lowering
from ._values import LoweringRule, Value, lower_rules


class RunMlirRule(Protocol):
    """How a runtime calls a rule that builds MLIR objects."""

    def __call__(
        self,
        rule: Callable[..., Any],
        primitive: Primitive,
        ctx: Lowering,
        operands: Sequence[Value],
        params: dict[str, Any],
        /,
    ) -> list[Value]:
        """The results of the rule, as values of the module under construction."""
        ...


class MlirRules:
    """The function that calls rules that build MLIR objects; a runtime registers it."""

    __slots__ = ("run",)

    run: RunMlirRule

    def __init__(self):
        self.run = _no_mlir

    def register(self, run: RunMlirRule) -> None:
        """Set ``run(rule, primitive, ctx, operands, params)``."""
        self.run = run


def _no_mlir(
    rule: Callable[..., Any],
    primitive: Primitive,
    ctx: Lowering,
    operands: Sequence[Value],
    params: dict[str, Any],
) -> list[Value]:
    raise NotImplementedError(
        f"The lowering rule of {primitive.name!r} builds MLIR objects, and no runtime that has "
        "MLIR is imported. Import ricci_xla, or register a rule made by lower_fun."
    )


mlir_rules: MlirRules = MlirRules()


class TracedRule:
    """A lowering rule that traces a function of arrays and writes its operations; ``lower_fun``."""

    __slots__ = ("fun", "multiple_results")

    fun: Callable[..., Any]
    multiple_results: bool

    def __init__(self, fun: Callable[..., Any], multiple_results: bool):
        self.fun = fun
        self.multiple_results = multiple_results

    def jaxpr(self, avals: Sequence[AbstractValue], params: dict[str, Any]) -> Jaxpr:
        """The program of the function for operands of these types."""

        def flat(*args: Any) -> Sequence[Any]:
            result = self.fun(*args, **params)
            return result if self.multiple_results else [result]

        return trace_to_jaxpr(flat, avals)

    def __call__(self, ctx: Any, *operands: Any, **params: Any) -> list[Any]:
        """Write the operations; ``ctx`` is the context of the rule that is running.

        With the context of a rule that builds MLIR objects, operands and results are MLIR values.
        """
        avals: list[Any] = [getattr(x, "aval", None) for x in operands]
        if None in avals:  # MLIR values do not know their abstract types
            avals = ctx.avals_in
        return ctx.inline(self.jaxpr(avals, params), operands)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> TracedRule:
    """A lowering rule that writes the operations of a function of arrays.

    Args:
      fun: ``fun(*arrays, **params)``.
      multiple_results: whether it returns a sequence of arrays instead of one array.
    """
    return TracedRule(fun, multiple_results)


# Registered rules, by platform; the platform None is the default.
_rules: dict[Primitive, dict[str | None, Callable[..., Any]]] = {}
# Ricci's own rules of the primitives in _rules.
_own: dict[Primitive, LoweringRule] = {}


def register_lowering(
    prim: Primitive,
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
        all platforms that have no rule of their own.
      inline, cacheable: accepted for compatibility, and ignored.
    """
    if prim not in _rules and prim in lower_rules:
        _own[prim] = lower_rules[prim]
    rules = _rules.setdefault(prim, {})
    for name in ("cuda", "rocm") if platform == "gpu" else (platform,):
        rules[name] = rule
    lower_rules[prim] = lambda ctx, *operands, **params: _lower(prim, ctx, operands, params)


def _lower(
    primitive: Primitive, ctx: Lowering, operands: Sequence[Value], params: dict[str, Any]
) -> Value | Sequence[Value]:
    rules = _rules[primitive]
    rule = rules.get(ctx.platform, rules.get(None))
    if rule is None and primitive in _own:
        return _own[primitive](ctx, *operands, **params)
    if rule is None:
        raise NotImplementedError(
            f"primitive {primitive.name!r} has no lowering rule for {ctx.platform}: "
            f"there is one for {', '.join(map(str, rules))}"
        )
    if isinstance(rule, TracedRule):
        results = rule(ctx, *operands, **params)
    else:
        results = mlir_rules.run(rule, primitive, ctx, operands, params)
    return results if primitive.multiple_results else results[0]
