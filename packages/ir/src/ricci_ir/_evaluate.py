"""Running a jaxpr by binding its equations one after another in the current trace."""

from collections.abc import Sequence
from typing import Any

from ._jaxpr import Jaxpr, Literal
from ._source import no_origin
from ._trace import context


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Apply a jaxpr to arguments in the current trace.

    Args:
      jaxpr: the program.
      consts: a value for each of ``jaxpr.constvars``.
      args: a value for each of ``jaxpr.invars``.

    Returns:
      The results, in order.
    """
    env: dict[int, Any] = {}
    for var, value in zip(jaxpr.constvars, consts, strict=True):
        env[id(var)] = value
    for var, value in zip(jaxpr.invars, args, strict=True):
        env[id(var)] = value
    outer, origin = context.name_stack, context.origin
    try:
        for eqn in jaxpr.eqns:
            operands = [atom.val if type(atom) is Literal else env[id(atom)] for atom in eqn.invars]
            code, offset, names = eqn.raw_source
            context.name_stack = outer + names if names else outer
            context.origin = (code, offset) if code is not None else origin or no_origin
            result = eqn.primitive.bind(*operands, **eqn.params)
            if eqn.primitive.multiple_results:
                for var, value in zip(eqn.outvars, result, strict=True):
                    env[id(var)] = value
            else:
                env[id(eqn.outvars[0])] = result
    finally:
        context.name_stack, context.origin = outer, origin
    return [atom.val if type(atom) is Literal else env[id(atom)] for atom in jaxpr.outvars]


def jaxpr_as_fun(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """Apply a jaxpr closed over its own constants."""
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)
