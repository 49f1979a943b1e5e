"""Control flow, loops, custom solves, and staged functions with names."""

import numpy as np

from .case import Table

# fmt: off
TABLE = Table()
each = TABLE.each

each("cond", "lax.cond(p, lambda a: lax.sin(a), lambda a: a * 2.0, x)", dtypes="f32 f64 bf16",
     p="bool[]", x="@[2,3]")
each("cond", "lax.cond(p, lambda a, b: (a, b), lambda a, b: (b, a * b), x, y)", p=True,
     x="f32[2]", y="f32[2]")
each("cond", "lax.cond(p, lambda: x, lambda: y)", p="bool[]", x="f32[2]", y="f32[2] in 0 1")
each("cond", "lax.cond(p > 0, lambda d: {'r': d['a'] + 1}, lambda d: {'r': d['a']}, {'a': x})",
     p="i32[]", x="i32[2]")
each("cond", "lax.cond(p, lambda a: a, lambda a: a + 1, operand=x)", p="i32[]", x="f32[2]")
each("switch", "lax.switch(i, [lambda a: a, lambda a: a * a, lambda a: lax.cos(a)], x)",
     dtypes="f32 c64", i="i32[] in 0 2", x="@[2,3]")
each("switch", "lax.switch(i, [lambda a: a, lambda a: a * a], x)", i=np.array(7, np.int32),
     x="f32[2]")
each("switch", "lax.switch(i, [lambda a: a, lambda a: a * a], x)", i=np.array(-3, np.int32),
     x="f32[2]")
each("switch", "lax.switch(i, [lambda a: a + 1], x)", i="i32[]", x="f32[2]")
each("while_loop", "lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 1.5), (0, x))",
     x="f32[2]", probes="value jvp vmap")
each("while_loop", "lax.while_loop(lambda v: lax.lt(v, 10.0), lambda v: v + y, x)", x="f32[]",
     y="f32[] in 1 2", probes="value jvp vmap")
each("while_loop", "lax.while_loop(lambda i: i < 3, lambda i: i + 1, i)", i="i32[] in 5 7",
     probes="value vmap")
each("fori_loop", "lax.fori_loop(0, 4, lambda i, v: v * y + i, x)", x="f32[2]", y="f32[2]")
each("fori_loop", "lax.fori_loop(0, n, lambda i, v: v + x, x)", n="i32[] in 2 4", x="f32[2]",
     probes="value jvp vmap")
each("fori_loop", "lax.fori_loop(3, 0, lambda i, v: v * 2, x)", x="i32[2]")
each("fori_loop", "lax.fori_loop(0, 6, lambda i, v: lax.sin(v), x, unroll=2)", x="f32[2]")
BODY = "lambda c, a: (c * y + a, lax.sin(c)), x, z"
each("scan", f"lax.scan({BODY})", dtypes="f32 f64", x="@[2]", y="@[2]", z="@[4,2]")
each("scan", f"lax.scan({BODY}, reverse=True)", x="f32[2]", y="f32[2]", z="f32[4,2]")
each("scan", f"lax.scan({BODY}, unroll=2)", x="f32[2]", y="f32[2]", z="f32[5,2]")
each("scan", f"lax.scan({BODY}, unroll=True)", x="f32[2]", y="f32[2]", z="f32[3,2]")
each("scan", "lax.scan(lambda c, _: (c * 1.5, c), x, None, length=3)", x="f32[2]")
each("scan", "lax.scan(lambda c, a: (c + a['k'], None), x, {'k': z})", dtypes="f32 i32", x="@[]",
     z="@[3]")
each("scan", "lax.scan(lambda c, a: (c, a), x, z)", x="f32[]", z="f32[0,2]")
each("scan", "lax.scan(lambda c, a: (c + 1, a * c), 0, z)", z="f32[3]")
# Operands that loops and branches forward are not results of theirs, and have reverse derivatives.
each("while_loop", "lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1]), (0, x))",
     dtypes="f32 f64", x="@[2]")
each("while_loop", "lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + s[1], s[1]), (0., x))[1]",
     x="f32[]")
each("while_loop", "lax.while_loop(lambda s: s[0] < z, lambda s: (s[0] + y * s[1], s[1], s[2] + "
     "s[3], s[3]), (0., y, 1., z * 2))", y="f32[] in 1 2", z="f32[] in 3 4", probes="value jvp")
each("while_loop", "lax.while_loop(lambda s: s[0] < s[1], lambda s: (s[0] + 1, s[1], s[2]), "
     "(0., x, 2.))", x="f32[]", probes="value jvp vmap")
each("while_loop", "lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1], s[1]), "
     "(0., x, x))", x="f32[]", probes="value jvp vmap")
each("while_loop", "lax.while_loop(lambda s: False, lambda s: s, (x,))", x="f32[3]")
each("fori_loop", "lax.fori_loop(0, n, lambda i, v: (v[0] + 1., v[1]), (1., x))[1]",
     n="i32[] in 2 4", x="f32[2]")
each("cond", "lax.cond(p, lambda a: (a, a + 1), lambda a: (a, a * 2), x)", p="bool[]", x="f32[2]")
each("cond", "lax.cond(p, lambda a: (y, a), lambda a: (y, a * 2), x)", p="bool[]", x="f32[2]",
     y="f32[3]")
each("cond", "lax.cond(p, lambda a, b: (a, a, b), lambda a, b: (a, b, b), x, y)", p="bool[]",
     x="f32[2]", y="f32[2]")
each("cond", "lax.cond(p, lambda: x, lambda: x)", p="bool[]", x="f32[2]")
each("switch", "lax.switch(i, [lambda a: (a, a), lambda a: (a, -a), lambda a: (a, a * 2)], x)",
     i="i32[] in 0 2", x="f32[2]")
# The index is weakly typed where the bounds are known, or the lower one is as wide as the upper.
each("fori_loop", "lax.fori_loop(0, n, lambda i, v: v + i, x)", dtypes="i8 f32 bf16",
     n="i32[] in 2 4", x="@[2]", probes="value")
each("fori_loop", "lax.fori_loop(n, 5, lambda i, v: v + i, x)", dtypes="i8 f32", n="i32[] in 2 4",
     x="@[2]", probes="value")
for bounds in ("np.int8(0), np.int8(3)", "0, np.int32(3)", "jnp.int32(0), 3", "0., 3.7"):
    each("fori_loop", f"lax.fori_loop({bounds}, lambda i, v: v + i, x)", dtypes="i8 f32", x="@[2]",
         probes="value eager")
each("fori_loop", "lax.fori_loop(l, n, lambda i, v: v + i, x)", dtypes="i8 f32",
     l="i8[] in 0 1", n="i8[] in 2 4", x="@[2]", probes="value")
# Results are as weak as what the body or the first branch returns, not as what a loop begins with.
WEAK = "value jvp vmap eager"
each("fori_loop", "lax.fori_loop(0, 2, lambda i, v: i * 0.5, x)", x="f32[]", probes=WEAK)
each("fori_loop", "lax.fori_loop(0, n, lambda i, v: i * 0.5, x)", n="i32[] in 2 4", x="f32[]",
     probes=WEAK)
each("while_loop", "lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[0] * 0.5), (0, x))",
     x="f32[]", probes=WEAK)
each("scan", "lax.scan(lambda c, a: (jnp.asarray(0.5), c), x, z)", x="f32[]", z="f32[3]",
     probes=WEAK)
each("scan", "lax.scan(lambda c, a: (c + a, c), 1., z)", x="f32[]", z="f32[3]", probes=WEAK)
each("scan", "lax.scan(lambda c, a: (c[::-1], c), (1., x), z)", x="f32[]", z="f32[3]", probes=WEAK)
each("cond", "lax.cond(p, lambda: x, lambda: jnp.asarray(0.5))", p="bool[]", x="f32[]", probes=WEAK)
each("cond", "lax.cond(p, lambda: jnp.asarray(0.5), lambda: x)", p="bool[]", x="f32[]", probes=WEAK)
each("switch", "lax.switch(i, [lambda: jnp.asarray(0.5), lambda: x])", i="i32[] in 0 1", x="f32[]",
     probes=WEAK)
each("switch", "lax.switch(i, [lambda: x, lambda: jnp.asarray(0.5)])", i="i32[] in 0 1", x="f32[]",
     probes=WEAK)
each("map", "lax.map(lambda a: lax.sin(a) * 2, x)", dtypes="f32 c64", x="@[3,2]")
each("map", "lax.map(lambda t: t[0] * t[1], (x, y))", x="f32[3]", y="f32[3]")
each("map", "lax.map(lambda a: a * a, x, batch_size=2)", x="f32[5,2]")
each("platform_dependent", "lax.platform_dependent(x, cpu=lambda a: a + 1, "
     "default=lambda a: a * 2)",
     x="f32[2]")
each("platform_dependent", "lax.platform_dependent(x, default=lambda a: a * 2)", x="f32[2]")
ROOT = ("lax.custom_root(lambda v: v * v - x, y, lambda f, v: lax.fori_loop(0, 9, lambda _, w: "
        "w - f(w) / (2 * w), v), lambda g, b: b / g(1.0))")
each("custom_root", ROOT, x="f32[] in 1 2", y="f32[] in 1 2", mapped="x y")
SOLVE = ("lax.custom_linear_solve(lambda v: a * v, b, lambda f, v: v / a, {0})")
each("custom_linear_solve", SOLVE.format("symmetric=True"), a="f32[3] in 1 2", b="f32[3]")
each("custom_linear_solve", SOLVE.format("lambda f, v: v / a"), a="f32[3] in 1 2", b="f32[3]")
each("composite", "lax.composite(lambda a: a + 1, 'my.f')(x)", x="f32[2]")
each("composite", "lax.composite(lambda a, *, k: a * k, 'my.g', version=2)(x, k=3.0)", x="f32[2]",
     probes="value")
each("create_token", "lax.create_token()", probes="value", exact=False)
each("after_all", "lax.after_all(lax.create_token(), lax.create_token())", probes="value",
     exact=False)
