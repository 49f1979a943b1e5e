"""Running the programs that primitives hold in their parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci_ir import Jaxpr, eval_jaxpr, eval_trace, set_trace


def call_program(jaxpr: Jaxpr, args: Sequence[Any]) -> list[np.ndarray]:
    """The results of a program, as NumPy arrays; its operations go through the backend."""
    operands = [np.asarray(x) for x in args]
    with set_trace(eval_trace):
        results = eval_jaxpr(jaxpr, jaxpr.consts, *operands)
    avals: list[Any] = jaxpr.out_avals
    return [np.asarray(x, aval.dtype) for x, aval in zip(results, avals, strict=True)]


def fold(
    jaxpr: Jaxpr, consts: Sequence[Any], inits: Sequence[Any], rows: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Combine the last dimension's elements one after another, in all rows by themselves.

    Args:
      jaxpr: combines scalars: from the accumulated values and the next ones to the former.
      consts: its leading arguments.
      inits: what to start from.
      rows: arrays of one shape.
    """
    outer, length = rows[0].shape[:-1], rows[0].shape[-1]
    results = [np.empty(outer, row.dtype) for row in rows]
    for place in np.ndindex(outer):
        state: list[Any] = list(inits)
        for i in range(length):
            state = call_program(jaxpr, [*consts, *state, *(row[(*place, i)] for row in rows)])
        for result, value in zip(results, state, strict=True):
            result[place] = value
    return results
