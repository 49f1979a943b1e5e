"""The rows of an array as separate results, such as the new parameters of rolled layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import instantiate, linear
from ricci_batching import batched_at
from ricci_lax.elementwise import max as maximum
from ricci_lax.reductions import reduce
from ricci_lax.reductions._axis_reductions import lowest
from ricci_lax.shapes import stack, unstack
from ricci_lax.structure import broadcast
from ricci_stablehlo import Lowering, Value, of_function, traced

__all__ = ["MANY_ROWS", "rows_p"]

MANY_ROWS, _GROUP = 8, 16


def _in_groups(x: ir.Array) -> list[ir.Array]:
    """Take the rows of an array by few operations.

    XLA's CPU backend compiles a function for each slice that is a result, which takes LLVM some 15
    ms. It has no other operation with several results than a reduction of several arrays. The
    maximum of two copies of a row is the row; the copies exist in the reduction's loop only.
    """
    rows = unstack(x)
    inits = [np.array(lowest(x.dtype), x.dtype)] * _GROUP
    groups = [rows[i : i + _GROUP] for i in range(0, len(rows), _GROUP)]
    return [
        row
        for group in groups
        for row in reduce(
            [broadcast(row, (2,)) for row in group], inits[: len(group)], _maxima, (0,)
        )
    ]


def _maxima(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    return [maximum(x, y) for x, y in zip(xs, ys, strict=True)]


def _lower_rows(ctx: Lowering, x: Value) -> object:
    is_number = isinstance(x.aval.dtype, np.dtype) and x.aval.dtype.kind in "iuf"
    is_grouped = ctx.platform == "cpu" and is_number and len(ctx.outs) >= MANY_ROWS
    return traced(_in_groups if is_grouped else unstack)(ctx, x)


rows_p: ir.Primitive = ir.define(
    "rows",
    abstract_eval=lambda x: [x.resized(x.shape[1:])] * x.shape[0],
    multiple_results=True,
    sharding=ir.factors(
        lambda x: ir.FactorMap(
            ((None, *range(1, x.ndim)),), (tuple(range(1, x.ndim)),) * x.shape[0]
        )
    ),
    jvp=linear,
    transpose=lambda ct, x: [stack(list(map(instantiate, ct)), 0)],
    batch=lambda axis, args, dims: (
        rows_p.bind(batched_at(args[0], dims[0], axis, 1)),
        [0] * args[0].shape[dims[0] == 0],
    ),
    lower=of_function(unstack, _lower_rows),
)
