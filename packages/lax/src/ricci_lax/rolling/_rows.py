"""The rows of an array as separate results, such as the new parameters of rolled layers."""

from collections.abc import Sequence
from functools import partial

import numpy as np

import ricci_ir as ir
from ricci_autodiff import instantiate, linear
from ricci_batching import batched_at
from ricci_lax.shapes import dynamic_index_in_dim, stack, unstack
from ricci_lax.structure import optimization_barrier
from ricci_stablehlo import Lowering, Value, native_kernel, of_function, traced

__all__ = ["MANY_ROWS", "rows_p"]

MANY_ROWS = 8


def _at_indices(x: ir.Array) -> Sequence[ir.Array]:
    """Take the rows of an array by operations that are compiled once.

    XLA's CPU backend compiles a function for each slice that is a result, which takes LLVM some 15
    ms. Functions that are equal are compiled once: behind a barrier, the index of a row is an
    operand of its function and not a constant in it.
    """
    indices = optimization_barrier([np.int32(i) for i in range(x.shape[0])])
    row = partial(dynamic_index_in_dim, x, keepdims=False, allow_negative_indices=False)
    return list(map(row, indices))


def _lower_rows(ctx: Lowering, x: Value) -> object:
    kernel = native_kernel(ctx, "unstack", x.aval, 0)
    if kernel is not None:
        return ctx.custom_call(kernel.target, [x], ctx.outs)
    is_many = ctx.platform == "cpu" and len(ctx.outs) >= MANY_ROWS
    return traced(_at_indices if is_many else unstack)(ctx, x)


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
