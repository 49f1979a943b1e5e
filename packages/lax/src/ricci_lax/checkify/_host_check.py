"""``host_check``: values with a check, whose failure the caller of the executable raises."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero
from ricci_batching import Axis
from ricci_lax.elementwise import gt
from ricci_lax.reductions import argmax, reduce_or
from ricci_lax.shapes import dynamic_index_in_dim, index_in_dim
from ricci_lax.structure import reshape, transpose
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value, host_check, writes_host_checks

__all__: list[str] = []

type Failure = Callable[[np.ndarray], Exception]


def _types(
    errors: ir.ShapedArray, *values: ir.AbstractValue, failure: Failure
) -> list[ir.AbstractValue]:
    if errors.ndim == 0 or errors.dtype != np.int32:
        raise TypeError(f"host_check needs errors of dtype int32 in rows; they are {errors}.")
    return list(values)


def _shardings(
    avals: Sequence[Any], results: Sequence[Any], failure: Failure
) -> list[ir.TypeSharding | None]:
    return [aval.type_sharding for aval in avals[1:]]


def _nonzero(errors: ir.Array, tangents: Sequence[Any], failure: Failure) -> list[Any]:
    """Check tangents or cotangents; the backward pass may be all that is computed."""
    nonzeros = [t for t in tangents if type(t) is not Zero]
    checked = iter(host_check_p.bind(errors, *nonzeros, failure=failure) if nonzeros else ())
    return [t if type(t) is Zero else next(checked) for t in tangents]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, failure: Failure
) -> tuple[list[Any], list[Any]]:
    errors, *values = primals
    return (
        host_check_p.bind(errors, *values, failure=failure),
        _nonzero(errors, tangents[1:], failure),
    )


def _transpose(
    cts: Sequence[Any], errors: ir.Array, *values: object, failure: Failure
) -> list[Any]:
    checked = _nonzero(errors, cts, failure)
    return [None, *[None if type(ct) is Zero else ct for ct in checked]]


def _batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, failure: Failure
) -> tuple[list[Any], list[int | None]]:
    errors, *values = args
    if dims[0]:
        order = [dims[0], *[d for d in range(len(shape_of(errors))) if d != dims[0]]]
        errors = transpose(errors, order)
    return host_check_p.bind(errors, *values, failure=failure), list(dims[1:])


def _first(errors: ir.Array) -> list[Any]:
    """Whether there is an error, and the first row with one."""
    *outer, size = shape_of(errors)
    rows = reshape(errors, (int(np.prod(outer)), size))
    failed = gt(index_in_dim(rows, 0, 1, keepdims=False), np.int32(0))
    row = dynamic_index_in_dim(rows, argmax(failed, 0, np.int32), 0, keepdims=False)
    return [reduce_or(failed, (0,)), row]


def _lower(ctx: Lowering, errors: Value, *values: Value, failure: Failure) -> list[Value]:
    if 0 not in errors.shape and writes_host_checks(ctx):
        aval = ir.ShapedArray(errors.shape, np.dtype(np.int32))
        jaxpr = ir.trace_to_jaxpr(_first, [aval], ir.DebugInfo("host_check", "first_error"))
        failed, row = ctx.call(jaxpr, "first_error", [errors])
        host_check(ctx, failed, [row], lambda row: failure(np.asarray(row)))
    return list(values)


def _evaluate(errors: np.ndarray, *values: object, failure: Failure) -> list[Any]:
    rows = np.asarray(errors)
    rows = rows.reshape(-1, rows.shape[-1])
    failed = np.flatnonzero(rows[:, 0] > 0)
    if len(failed):
        raise failure(rows[failed[0]])
    return list(values)


# Operands: errors, int32 of rank 1 or more, and the values, which are the results. A row of the
# last dimension whose first element is positive is an error; ``failure`` makes its exception.
# Values whose results are unused are not checked.
host_check_p: ir.Primitive = ir.define(
    "host_check",
    abstract_eval=_types,
    multiple_results=True,
    sharding=ir.own_sharding(_shardings, joins=False),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    lower=_lower,
    reference=_evaluate,
)
