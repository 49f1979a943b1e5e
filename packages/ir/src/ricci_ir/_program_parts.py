"""Dead-code elimination, pruning and reordering of jaxprs, for libraries written for JAX.

These are functions of ``jax.interpreters.partial_eval``.
"""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from .jaxprs._dead_code import live_program
from .jaxprs._jaxpr import DebugInfo, Jaxpr, JaxprEqn, unknown_debug_info
from .jaxprs._staging import trace_to_jaxpr
from .types._aval import AbstractValue

__all__ = [
    "abstract_eval_fun",
    "close_jaxpr",
    "dce_called_jaxpr",
    "dce_jaxpr",
    "dce_jaxpr_consts",
    "lower_jaxpr_types",
    "move_binders_to_back",
    "prune_outputs",
]


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """Eliminate dead code: drop unused results, and the equations that only they need.

    Args:
      jaxpr: the jaxpr. Equations with side effects stay.
      used_outputs: for each result, or for all, whether it is used.
      instantiate: for each argument, or for all, whether it stays even if it is unused.

    Returns:
      The smaller jaxpr, and for each argument whether it is still an argument.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.interpreters.partial_eval import dce_jaxpr
      >>> jaxpr = ricci.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y)))(1.0, 1.0)
      >>> needed, used = dce_jaxpr(jaxpr, [True, False])
      >>> [eqn.primitive.name for eqn in needed.eqns], used
      (['sin'], [True, False])
    """
    live, needed = live_program(jaxpr, _for_each(used_outputs, jaxpr.outvars))
    stays = _for_each(instantiate, jaxpr.invars)
    used = [need or stay for need, stay in zip(needed, stays, strict=True)]
    return live.replace(invars=list(compress(live.invars, used))), used


def dce_jaxpr_consts(
    jaxpr: Jaxpr,
    used_outputs: Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """Like ``dce_jaxpr``; returns as well for each constant whether it is still used.

    Returns:
      The smaller jaxpr; for each constant, and for each argument, whether it is still there.
    """
    smaller, used = dce_jaxpr(jaxpr, used_outputs, instantiate)
    left = set(smaller.constvars)
    return smaller, [var in left for var in jaxpr.constvars], used


def dce_called_jaxpr(
    used_outputs: Sequence[bool], eqn: JaxprEqn
) -> tuple[list[bool], JaxprEqn | None]:
    """The rule of ``dce_rules`` for a primitive that applies its parameter ``call_jaxpr``.

    Args:
      used_outputs: for each result, whether it is used.
      eqn: the equation.

    Returns:
      For each operand, whether it is still read; and the equation, or ``None`` if it is dead.

    Raises:
      KeyError: if the equation has no such parameter.
    """
    jaxpr = eqn.params["call_jaxpr"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    smaller, used = dce_jaxpr(jaxpr, used_outputs)
    return used, eqn.replace(
        invars=list(compress(eqn.invars, used)),
        outvars=list(compress(eqn.outvars, used_outputs)),
        params={**eqn.params, "call_jaxpr": smaller},
        effects=smaller.effects,
    )


def prune_outputs(jaxpr: Jaxpr, used_outputs: Sequence[bool]) -> Jaxpr:
    """Drop results of a jaxpr; its equations stay."""
    return jaxpr.replace(outvars=list(compress(jaxpr.outvars, used_outputs)))


def move_binders_to_back(closed_jaxpr: Jaxpr, to_move: Sequence[bool]) -> Jaxpr:
    """Move some arguments of a jaxpr to the end.

    Args:
      closed_jaxpr: the jaxpr.
      to_move: for each argument, whether it moves.
    """
    invars = closed_jaxpr.invars
    stay = [var for var, moves in zip(invars, to_move, strict=True) if not moves]
    return closed_jaxpr.replace(invars=[*stay, *compress(invars, to_move)])


def close_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr unchanged: Ricci's are closed over their constants.

    Args:
      jaxpr: the jaxpr.

    Returns:
      The same.

    Example:
      >>> import ricci
      >>> from ricci.interpreters.partial_eval import close_jaxpr
      >>> jaxpr = ricci.make_jaxpr(lambda x: x + 1.0)(0.0)
      >>> close_jaxpr(jaxpr) is jaxpr
      True
    """
    return jaxpr


def lower_jaxpr_types(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr unchanged: in Ricci no type is represented by several arrays."""
    return jaxpr


def abstract_eval_fun(
    fun: Callable[..., Sequence[Any]],
    *avals: AbstractValue,
    debug_info: DebugInfo = unknown_debug_info,
    **params: Any,
) -> list[AbstractValue]:
    """The types of a function's results.

    Args:
      fun: ``fun(*arrays, **params)`` returns a sequence of arrays.
      avals: the types of the arrays.
      debug_info: the names of the function and its arguments, for messages.
      params: keyword arguments.

    Returns:
      The types, a list.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci_ir import abstract_eval_fun
      >>> abstract_eval_fun(lambda x: [x], ShapedArray((3,), "float32"))
      [ShapedArray(float32[3])]
    """
    return trace_to_jaxpr(lambda *args: fun(*args, **params), avals, debug_info).out_avals


def _for_each(flags: bool | Sequence[bool], things: Sequence[Any]) -> list[bool]:
    return [flags] * len(things) if isinstance(flags, bool) else list(flags)
