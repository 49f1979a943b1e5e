"""Evaluation of a user's function operation by operation, in its first calls.

A program that makes a new function for each call, as by ``checkpoint(lambda x: ...)(x)``, would
else compile in each call. The executables of single operations are cached by type.
"""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir

__all__: list[str] = []

_CALLS = 2  # of a jaxpr, before it is compiled


class _Remaining:
    """The number of calls of a jaxpr that are still to be evaluated operation by operation."""

    __slots__ = ("count",)

    def __init__(self):
        self.count: int = _CALLS


def evaluated_by_operation(jaxpr: ir.Jaxpr, operands: Sequence[Any]) -> list[Any] | None:
    """Evaluate a jaxpr in one of its first calls, if the call computes values now.

    Args:
      jaxpr: a jaxpr.
      operands: its arguments.

    Returns:
      Its results; ``None`` if the call is to be bound as one operation: in later calls, with side
      effects, and where it is traced, differentiated or batched.
    """
    if ir.context.trace is not ir.eval_trace or jaxpr.effects:
        return None
    if any(isinstance(x, ir.Tracer) for x in operands):
        return None
    remaining = jaxpr.derived("calls by operation", _Remaining)
    if not remaining.count:
        return None
    remaining.count -= 1
    # Without what a compiled call would not compute, such as callbacks whose results are unused.
    live = ir.live_program(jaxpr, final=True).jaxpr
    # A result that is a literal of the jaxpr becomes an array, as in later calls.
    return [ir.as_array(x) for x in ir.eval_jaxpr(live, live.consts, *operands)]
