"""Lowering rules of primitives that other primitives make up."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import no_origin, trace_to_jaxpr

from ._lowering import Lowering
from ._values import LoweringRule, Value


def traced(fun: Callable[..., Any]) -> LoweringRule:
    """A lowering rule that traces a function of arrays and writes its operations.

    Args:
      fun: ``fun(*operands, **params)``, made of other primitives. It returns an array, or a
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
        jaxpr = trace_to_jaxpr(flat, avals, origin=no_origin)  # it stands in the primitive's line
        results = ctx.inline(jaxpr, operands)
        return results if many else results[0]

    return of_function(fun, lower)


def of_function(fun: Callable[..., Any], lower: LoweringRule) -> LoweringRule:
    """A lowering rule, with the function of arrays that it writes as its attribute ``function``.

    A backend without a compiler, which has no rule for the primitive, calls that function.

    Args:
      fun: ``fun(*operands, **params)``, on arrays, as for ``traced``.
      lower: the rule.
    """
    lower.function = fun  # pyright: ignore[reportFunctionMemberAccess]
    return lower
