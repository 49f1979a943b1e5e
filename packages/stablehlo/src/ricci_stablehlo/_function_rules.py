"""Lowering rules of primitives that are composed of other primitives."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import no_origin, trace_to_jaxpr

from ._lowering import Lowering
from ._values import LoweringRule, Value

__all__ = ["of_function", "traced"]


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
