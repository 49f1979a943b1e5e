"""Dynamic slices, gathers and scatters, in every mode and out of bounds."""

import numpy as np

from .case import Table

# fmt: off
TABLE = Table()
each = TABLE.each
SOME = "f32 i32 bool c64 bf16"
MODES = ("None", "'clip'", "'fill'", "'promise_in_bounds'", "lax.GatherScatterMode.CLIP",
         "lax.GatherScatterMode.FILL_OR_DROP", "lax.GatherScatterMode.PROMISE_IN_BOUNDS")
OUTSIDE = np.array([[-1], [2], [5]], np.int32)
INSIDE = np.array([[0], [2], [1]], np.int32)

each("dynamic_slice", "lax.dynamic_slice(x, (i, j), (2, 2))", dtypes=SOME, x="@[3,4]",
     i="i32[] in 0 1", j="i32[] in 0 2")
each("dynamic_slice", "lax.dynamic_slice(x, i, (2,))", x="f32[4]", i=np.array([9], np.int32))
each("dynamic_slice", "lax.dynamic_slice(x, (i,), (2,))", x="f32[4]", i=np.array(-1, np.int32))
each("dynamic_slice", "lax.dynamic_slice(x, (i,), (2,), allow_negative_indices=False)",
     x="f32[4]", i=np.array(-1, np.int32))
each("dynamic_slice", "lax.dynamic_slice(x, (1, 0), (2, 0))", x="f32[3,4]")
each("dynamic_slice", "lax.dynamic_slice(x, (i,), (2,))", x="f32[4]", i="u8[] in 0 2")
each("dynamic_slice", "lax.dynamic_slice(x, (), ())", x="f32[]")
each("dynamic_slice_in_dim", "lax.dynamic_slice_in_dim(x, i, 2, axis=1)", dtypes="f32 i32",
     x="@[2,4]", i="i32[] in 0 2")
each("dynamic_slice_in_dim", "lax.dynamic_slice_in_dim(x, -3, 2)", x="f32[4]")
each("dynamic_index_in_dim", "lax.dynamic_index_in_dim(x, i, 1)", dtypes="f32 i32", x="@[2,4]",
     i="i32[] in 0 3")
each("dynamic_index_in_dim", "lax.dynamic_index_in_dim(x, i, keepdims=False)", x="f32[2,4]",
     i="i32[] in 0 1")
each("dynamic_update_slice", "lax.dynamic_update_slice(x, u, (i, 1))", dtypes=SOME, x="@[3,4]",
     u="@[2,2] in 0 1", i="i32[] in 0 1")
each("dynamic_update_slice", "lax.dynamic_update_slice(x, u, i)", x="f32[4]", u="f32[2]",
     i=np.array([9], np.int32))
each("dynamic_update_slice", "lax.dynamic_update_slice(x, u, (i,))", x="f32[4]", u="f32[0]",
     i="i32[] in 0 1")
each("dynamic_update_slice_in_dim", "lax.dynamic_update_slice_in_dim(x, u, i, axis=1)",
     x="f32[2,4]", u="f32[2,2]", i="i32[] in 0 2")
each("dynamic_update_index_in_dim", "lax.dynamic_update_index_in_dim(x, u, i, axis=1)",
     x="f32[2,4]", u="f32[2]", i="i32[] in 0 2")
each("dynamic_update_index_in_dim", "lax.dynamic_update_index_in_dim(x, u, i, 0)", x="f32[3]",
     u="f32[]", i=np.array(-1, np.int32))

ROWS = ("lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), "
        "start_index_map=(0,))")
GATHER = f"lax.gather(x, i, {ROWS}, (1, 4)"
each("gather", GATHER + ")", dtypes=SOME, x="@[3,4]", i=INSIDE)
for mode in MODES:
    each("gather", f"{GATHER}, mode={mode})", x="f32[3,4]",
         i=INSIDE if "romise" in mode.lower() else OUTSIDE)
each("gather", GATHER + ", mode='fill')", dtypes="i32 u8 bool bf16 c64", x="@[3,4]", i=OUTSIDE)
each("gather", GATHER + ", mode='fill', fill_value=7)", dtypes="f32 i32", x="@[3,4]", i=OUTSIDE)
each("gather", GATHER + ", indices_are_sorted=True, unique_indices=True)", x="f32[3,4]",
     i=np.array([[0], [2]], np.int32))
each("gather", GATHER + ")", x="f32[3,4]", i="i32[0,1]")
each("gather", GATHER + ")", x="f32[3,4]", i="u8[2,1] in 0 2")
each("gather", "lax.gather(x, i, lax.GatherDimensionNumbers(offset_dims=(0, 1), "
     "collapsed_slice_dims=(), start_index_map=(1, 0)), (2, 3))", x="f32[3,4]",
     i=np.array([1, 1], np.int32))
each("gather", "lax.gather(x, i, lax.GatherDimensionNumbers(offset_dims=(2,), "
     "collapsed_slice_dims=(1,), start_index_map=(1,), operand_batching_dims=(0,), "
     "start_indices_batching_dims=(0,)), (1, 1, 2))", x="f32[2,3,2]", i="i32[2,4,1] in 0 2",
     mapped="x")

NUMBERS = ("lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), "
           "scatter_dims_to_operand_dims=(0,))")
SCATTER = f"lax.{{name}}(x, i, u, {NUMBERS}"
KINDS = "scatter scatter_add scatter_mul scatter_min scatter_max scatter_sub"
each(KINDS, SCATTER + ")", dtypes="f32 i32 bf16", x="@[3,4]", i=INSIDE, u="@[3,4] in 0 3")
each("scatter scatter_add scatter_sub scatter_mul", SCATTER + ")", dtypes="c64", x="@[3,4]",
     i=INSIDE, u="@[3,4] in 0 3")
each("scatter scatter_add", SCATTER + ")", dtypes="bool u8", x="@[3,4]", i=INSIDE, u="@[3,4]",
     probes="value vmap")
for mode in MODES:
    each("scatter scatter_add scatter_max", f"{SCATTER}, mode={mode})", x="f32[3,4]",
         i=INSIDE if "romise" in mode.lower() else OUTSIDE, u="f32[3,4] in 0 3")
each("scatter_min scatter_mul scatter_sub", SCATTER + ", mode='clip')", x="f32[3,4]", i=OUTSIDE,
     u="f32[3,4] in 0 3")
each("scatter_add scatter", SCATTER + ")", x="f32[3,4]", i=np.array([[1], [1], [0]], np.int32),
     u="f32[3,4]")
each(KINDS, SCATTER + ", indices_are_sorted=True, unique_indices=True)", x="f32[3,4]",
     i=np.array([[0], [2]], np.int32), u="f32[2,4] in 0 3")
each("scatter_mul", SCATTER + ", unique_indices=True)", x="f32[3,4]", i=INSIDE, u="f32[3,4] in 1 3")
each("scatter_add", SCATTER + ")", x="f32[3,4]", i="i32[0,1]", u="f32[0,4]")
each("scatter_add", "lax.scatter_add(x, i, u, lax.ScatterDimensionNumbers((1, 2), (0,), (0, 1)))",
     x="f32[3,4,2]", i=np.array([[0, 1], [2, 0]], np.int32), u="f32[2,2,2]")
each("scatter_add", "lax.scatter_add(x, i, u, lax.ScatterDimensionNumbers((), (1,), (1,), "
     "operand_batching_dims=(0,), scatter_indices_batching_dims=(0,)))", x="f32[2,3]",
     i="i32[2,1] in 0 2", u="f32[2]", mapped="x u")
each("scatter_apply", f"lax.scatter_apply(x, i, lax.sin, {NUMBERS}, update_shape=(3, 4))",
     dtypes="f32", x="@[3,4]", i=INSIDE)
each("scatter_apply", f"lax.scatter_apply(x, i, lambda a: a + 2, {NUMBERS}, update_shape=(3, 4), "
     "mode='drop', unique_indices=True)", x="i32[3,4]", i=INSIDE)
