"""Lowering rules as libraries written for JAX register them.

Such a rule is called as ``rule(ctx, *operands, **params)`` and returns a list of values. One that
``lower_fun`` made writes text, as Ricci's own rules do. Any other works on MLIR objects: a runtime
that has MLIR runs it (``mlir_rules``), and what it built becomes a function of the module.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import Primitive, trace_to_jaxpr

from ._lowering import Lowering, Value, lower_rules


class MlirRules:
    """How rules are run that build MLIR objects; a runtime gives it."""

    __slots__ = ("run",)

    run: Callable[[Callable[..., Any], Primitive, Lowering, Sequence[Value], dict], list[Value]]

    def __init__(self):
        self.run = _no_mlir

    def register(self, run: Callable[..., list[Value]]) -> None:
        """Set ``run(rule, primitive, ctx, operands, params)``."""
        self.run = run


def _no_mlir(rule, primitive, ctx, operands, params):
    raise NotImplementedError(
        f"the lowering rule of {primitive.name!r} builds MLIR objects, and no runtime is installed "
        "that has MLIR. Import ricci_xla, or give the rule with lower_fun."
    )


mlir_rules = MlirRules()


class TracedRule:
    """A lowering rule that writes what a function of arrays does; see ``lower_fun``."""

    __slots__ = ("fun", "multiple_results")

    def __init__(self, fun: Callable[..., Any], multiple_results: bool):
        self.fun = fun
        self.multiple_results = multiple_results

    def jaxpr(self, avals: Sequence[Any], params: dict[str, Any]) -> Any:
        """The program of the function for operands of these types."""

        def flat(*args: Any) -> Sequence[Any]:
            result = self.fun(*args, **params)
            return result if self.multiple_results else [result]

        return trace_to_jaxpr(flat, avals)

    def __call__(self, ctx: Any, *operands: Any, **params: Any) -> list[Any]:
        """Write it, as a rule or from within one: ``ctx`` is what a rule is given."""
        avals = [getattr(x, "aval", None) for x in operands]
        if None in avals:  # MLIR values, which do not know their types as ours do
            avals = ctx.avals_in
        return ctx.inline(self.jaxpr(avals, params), operands)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> TracedRule:
    """A lowering rule that writes what a function of arrays does.

    Args:
      fun: ``fun(*arrays, **params)``.
      multiple_results: whether it returns a sequence of arrays, else one.
    """
    return TracedRule(fun, multiple_results)


_rules: dict[Primitive, dict[str | None, Callable[..., Any]]] = {}
# Rules of Ricci's, where another was registered for some platform.
_own: dict[Primitive, Callable[..., Any]] = {}


def register_lowering(
    prim: Primitive,
    rule: Callable[..., Any],
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Say how a primitive is written.

    Args:
      prim: the primitive.
      rule: see the module; ``lower_fun`` makes one of a function.
      platform: ``cpu``, ``cuda``, ``rocm``, ``gpu`` (either of these) or ``tpu``; by default every
        one that has no rule of its own.
      inline, cacheable: not needed.
    """
    if prim not in _rules and prim in lower_rules:
        _own[prim] = lower_rules[prim]
    rules = _rules.setdefault(prim, {})
    for name in ("cuda", "rocm") if platform == "gpu" else (platform,):
        rules[name] = rule
    lower_rules[prim] = lambda ctx, *operands, **params: _lower(prim, ctx, operands, params)


def _lower(primitive: Primitive, ctx: Lowering, operands: Sequence[Value], params: dict) -> Any:
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
