"""Lowering rules that write a function of arrays or a jaxpr, also as a combiner region."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import AbstractValue, Jaxpr, host_rules, no_origin, subjaxprs, trace_to_jaxpr

from ._lowering import Lowering
from ._operations import Region
from ._values import LoweringRule, Value

__all__ = ["combining_region", "of_function", "traced"]


def traced(fun: Callable[..., Any]) -> LoweringRule:
    """Make a lowering rule that traces a function of arrays and writes its operations.

    Args:
      fun: ``fun(*operands, **params)``, composed of other primitives. It returns an array, or a
        sequence of arrays for a primitive with several results. Backends without a compiler
        call it, see ``of_function``.
    """

    def lower(ctx: Lowering, *operands: Value, **params: object) -> Any:
        many = True

        def flat(*xs: object) -> Sequence[Any]:
            nonlocal many
            result = fun(*xs, **params)
            many = isinstance(result, list | tuple)
            return result if many else [result]

        avals = [x.aval for x in operands]
        jaxpr = trace_to_jaxpr(flat, avals, origin=no_origin)  # has the primitive's source line
        results = ctx.inline(jaxpr, operands)
        return results if many else results[0]

    return of_function(fun, lower)


def of_function(fun: Callable[..., Any], lower: LoweringRule) -> LoweringRule:
    """Set the attribute ``function`` of a lowering rule to the function of arrays that it writes.

    Backends without a compiler and without a rule for the primitive call that function.

    Args:
      fun: ``fun(*operands, **params)``, on arrays, as for ``traced``.
      lower: the rule.
    """
    lower.function = fun  # pyright: ignore[reportFunctionMemberAccess]
    return lower


def combining_region(
    ctx: Lowering, what: str, avals: Sequence[AbstractValue], jaxpr: Jaxpr
) -> Region:
    """Return a region that combines elements by a jaxpr.

    The compiler runs such a region any number of times and in any order, and aborts the process if
    it contains a call of Python.

    Args:
      ctx: the context of the operation.
      what: the operation, for the message.
      avals: the types of the jaxpr's arguments.
      jaxpr: the jaxpr.

    Raises:
      NotImplementedError: if the jaxpr has side effects or calls Python.
    """
    if jaxpr.effects or _calls_python(jaxpr):
        effects = ", ".join(sorted(map(str, jaxpr.effects))) or "a callback"
        raise NotImplementedError(
            f"{what}: the computation that combines elements is effectful or calls Python "
            f"({effects}), which executables cannot do there. Call the function on whole "
            "arrays, before or after."
        )
    return ctx.region(avals, lambda inner, *xs: inner.inline(jaxpr, xs))


def _calls_python(jaxpr: Jaxpr) -> bool:
    if any(eqn.primitive in host_rules for eqn in jaxpr.eqns):
        return True
    return any(map(_calls_python, subjaxprs(jaxpr)))
