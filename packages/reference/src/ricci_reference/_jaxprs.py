"""Evaluation of the jaxprs that primitives hold in their parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ricci_ir import Jaxpr, eval_jaxpr, eval_trace, set_trace

from ._elements import from_numpy, numpy_dtype, to_array, to_numpy


def run_jaxpr(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr on the current backend.

    Its arguments become arrays of the types that it was traced for: otherwise a NumPy array of
    float64 would be of float64 in operations traced with 64-bit dtypes on, of float32 in others.
    """
    operands = [to_array(x, var.aval) for x, var in zip(args, jaxpr.invars, strict=True)]
    with set_trace(eval_trace):
        results = eval_jaxpr(jaxpr, jaxpr.consts, *operands)
    avals: list[Any] = jaxpr.out_avals
    return list(map(to_array, results, avals))


def run_jaxpr_numpy(jaxpr: Jaxpr, args: Sequence[ArrayLike]) -> list[np.ndarray]:
    """Evaluate a jaxpr on the current backend; return its results as NumPy arrays."""
    avals: list[Any] = [var.aval for var in jaxpr.invars]
    # Views become read-only, not the user's arrays.
    operands = [
        from_numpy(np.asarray(x, numpy_dtype(aval.dtype)).view(), aval)
        for x, aval in zip(args, avals, strict=True)
    ]
    out_avals: list[Any] = jaxpr.out_avals
    return list(map(to_numpy, run_jaxpr(jaxpr, operands), out_avals))


def fold(
    jaxpr: Jaxpr,
    consts: Sequence[ArrayLike],
    inits: Sequence[ArrayLike],
    rows: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """Fold each row of arrays, from the first element of the last dimension to its last.

    Args:
      jaxpr: a function of scalars, from accumulators and elements to the new accumulators.
      consts: its leading arguments.
      inits: the accumulators at the start of each row.
      rows: one array for each accumulator, all of one shape.
    """
    outer, length = rows[0].shape[:-1], rows[0].shape[-1]
    results = [np.empty(outer, row.dtype) for row in rows]
    for place in np.ndindex(outer):
        state: Sequence[ArrayLike] = inits
        for i in range(length):
            state = run_jaxpr_numpy(jaxpr, [*consts, *state, *(row[(*place, i)] for row in rows)])
        for result, value in zip(results, state, strict=True):
            result[place] = np.asarray(value)
    return results
