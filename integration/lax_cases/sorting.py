"""Sorting, and the largest elements."""

import numpy as np

from .case import INTS, NUMBERS, REALS, Table

# fmt: off
TABLE = Table()
each = TABLE.each

each("sort", "lax.sort(x)", dtypes=f"{NUMBERS} bool", x="@[3,5]")
each("sort", "lax.sort(x, dimension=0, is_stable=False)", dtypes="f32 i32", x="@[4,2]")
each("sort", "lax.sort((x, y), num_keys=2)", x="i32[2,5] in 0 1", y="f32[2,5]")
each("sort", "lax.sort((x, y, z), dimension=0, num_keys=1)", x="f32[4]", y="i32[4]",
     z="f32[4] in 0 1")
each("sort", "lax.sort(x)", probes="value",
     x=np.array([np.nan, 1, -0.0, 0.0, -np.inf, np.nan, np.inf], np.float32))
each("sort", "lax.sort(x)", x="f32[0]")
each("sort_key_val", "lax.sort_key_val(x, y)", dtypes="f32 i32", x="@[3,5]", y="f32[3,5]")
each("sort_key_val", "lax.sort_key_val(x, y, dimension=0)", x="f32[4,2]", y="i32[4,2]")
each("top_k", "lax.top_k(x, 2)", dtypes=f"{REALS} {INTS}", x="@[3,5]")
each("top_k", "lax.top_k(x, 2, axis=0)", x="f32[4,3]")
each("top_k", "lax.top_k(x, 0)", x="f32[3]")
each("top_k", "lax.top_k(x, 3, is_stable=False)", x="f32[5]")
each("top_k", "lax.top_k(x, 3)", x=np.array([1, 3, 3, np.nan, 2], np.float32), probes="value")
each("approx_max_k approx_min_k", "lax.{name}(x, 2)", dtypes="f32 bf16", x="@[3,8]")
each("approx_max_k approx_min_k", "lax.{name}(x, 2, reduction_dimension=0)", x="f32[8,3]")
each("approx_max_k", "lax.approx_max_k(x, 3, aggregate_to_topk=False)", x="f32[8]", probes="value")
