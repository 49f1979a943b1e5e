"""Reductions, cumulative operations, positions of extremes, associative scans."""

import numpy as np

from .case import INTS, NUMBERS, REALS, Table

# fmt: off
TABLE = Table()
each = TABLE.each

each("reduce_sum", "lax.reduce_sum(x, (0, 2))", dtypes=NUMBERS, x="@[2,3,4]")
each("reduce_prod", "lax.reduce_prod(x, (0, 2))", dtypes="f32 f64 c64 bf16 i32 u8", x="@[2,3,2]")
each("reduce_max reduce_min", "lax.{name}(x, (0, 2))", dtypes=f"{REALS} {INTS} bool", x="@[2,3,4]")
each("reduce_and reduce_or reduce_xor", "lax.{name}(x, (1,))", dtypes=f"bool {INTS}", x="@[2,3]")
for axes in ("()", "(0,)", "(1, 0)"):
    each("reduce_sum reduce_max reduce_min reduce_prod", f"lax.{{name}}(x, {axes})", x="f32[2,3]")
each("reduce_sum reduce_prod", "lax.{name}(x, (0,))", x="f32[0,3]")
each("reduce_max reduce_min", "lax.{name}(x, (0,))", x="f32[0,3]", probes="value vmap")
each("reduce_max reduce_min", "lax.{name}(x, (0,))", x=np.array([3, 1, 3, 1], np.float32))
each("reduce_max", "lax.reduce_max(x, (0,))", x=np.array([3, np.nan, 1], np.float32))
each("reduce_sum", "lax.reduce_sum(x, ())", x="f32[]")
each("reduce", "lax.reduce(x, 0.0, lax.add, (0,))", dtypes="f32", x="@[2,3]")
each("reduce", "lax.reduce(x, np.float32(1), lax.mul, (1,))", x="f32[2,3]")
each("reduce", "lax.reduce(x, np.int32(-9), lax.max, (0, 1))", dtypes="i32", x="@[2,3]")
each("reduce", "lax.reduce(x, True, lax.bitwise_and, (0,))", dtypes="bool", x="@[2,3]")
each("reduce", "lax.reduce(x, np.float32(0), lambda a, b: lax.add(lax.mul(a, 1.0), b), (0,))",
     x="f32[2,3]", probes="value vmap")
each("reduce", "lax.reduce((x, y), (np.float32(0), np.int32(0)), "
     "lambda a, b: (lax.add(a[0], b[0]), lax.max(a[1], b[1])), (1,))", x="f32[2,3]", y="i32[2,3]",
     probes="value vmap")
each("argmax argmin", "lax.{name}(x, 1, np.int32)", dtypes=f"{REALS} {INTS} bool", x="@[2,3]",
     probes="value vmap")
each("argmax argmin", "lax.{name}(x, 0, np.int64)", x="f64[2,3]", probes="value vmap")
each("argmax argmin", "lax.{name}(x, 0, np.uint8)", probes="value",
     x=np.array([1, np.nan, 3, np.nan], np.float32))
each("argmax argmin", "lax.{name}(x, -1, index_dtype=np.int32)", x="f32[2,3]", probes="value jvp")
each("cumsum cumprod", "lax.{name}(x, 1)", dtypes="f32 f16 bf16 f64 c64 i32 u8", x="@[2,4]")
each("cummax cummin", "lax.{name}(x, 1)", dtypes="f32 bf16 f64 i32 u8", x="@[2,4]")
each("cumlogsumexp", "lax.cumlogsumexp(x, 1)", dtypes="f32 bf16 f64", x="@[2,4]")
each("cumsum cumprod cummax cummin cumlogsumexp", "lax.{name}(x, axis=0, reverse=True)",
     x="f32[3,2]")
each("cumsum cumprod cummax cummin cumlogsumexp", "lax.{name}(x)", x="f32[0,2]")
each("cumsum", "lax.cumsum(x, axis=-1)", x="f32[2,3]")
each("associative_scan", "lax.associative_scan(lax.add, x)", dtypes="f32 i32 c64", x="@[5]")
each("associative_scan", "lax.associative_scan(lax.mul, x, reverse=True, axis=1)", x="f32[2,6]")
each("associative_scan", "lax.associative_scan(lambda a, b: (lax.mul(a[0], b[0]), "
     "lax.add(lax.mul(a[1], b[0]), b[1])), (x, y))", x="f32[7]", y="f32[7]")
each("associative_scan", "lax.associative_scan(lax.max, x, axis=-1)", x="f32[2,1]")
