"""Reductions over windows."""

from .case import Table

# fmt: off
TABLE = Table()
each = TABLE.each
WINDOW = "lax.reduce_window(x, {init}, lax.{fun}, "

for init, fun, dtypes in (
    ("0.0", "add", "f32"),
    ("np.array(0, x.dtype)", "add", "f64 bf16 c64 i32 u8"),
    ("-np.inf", "max", "f32"),
    ("np.array(-9, x.dtype)", "max", "i32 i8"),
    ("np.inf", "min", "f32"),
    ("1.0", "mul", "f32"),
    ("np.array(0, x.dtype)", "bitwise_or", "i32 u8"),
):
    start = WINDOW.replace("{init}", init).replace("{fun}", fun)
    probes = "value vmap" if fun in ("mul", "bitwise_or") else None
    each("reduce_window", start + "(2, 3), (1, 2), 'SAME')", dtypes=dtypes, x="@[4,5]",
         probes=probes)
ADD = "lax.reduce_window(x, 0.0, lax.add, "
MAX = "lax.reduce_window(x, -np.inf, lax.max, "
each("reduce_window", ADD + "(2, 2))", x="f32[3,4]")
each("reduce_window", ADD + "(2, 2), padding=((1, 2), (0, 1)), window_strides=(2, 1))",
     x="f32[3,4]")
each("reduce_window", ADD + "(2,), None, ((1, 1),), base_dilation=(2,), window_dilation=(3,))",
     x="f32[4]")
each("reduce_window", ADD + "(5,), None, 'VALID')", x="f32[3]")
each("reduce_window", ADD + "(2, 2), None, 'VALID')", x="f32[0,3]")
each("reduce_window", ADD + "(0,), None, 'VALID')", x="f32[3]", probes="value")
# A window of one beside this padding would do, but makes XLA's simplifier abort.
each("reduce_window", ADD + "(2,), None, [(-1, 0)])", x="f32[5]", probes="value jvp vmap")
each("reduce_window", ADD + "(), (), 'VALID')", x="f32[]")
each("reduce_window", MAX + "(2, 2), (2, 2), 'VALID')", x="f32[4,6]")
each("reduce_window", MAX + "(1, 2), (1, 1), 'SAME_LOWER')", x="f32[2,5]")
each("reduce_window", MAX + "(2,), (1,), ((1, 1),), window_dilation=(2,))", x="f32[5]",
     probes="value vmap")
each("reduce_window", "lax.reduce_window(x, np.float32(1), lambda a, b: a * b + 0.0, (2,), (1,), "
     "'VALID')", x="f32[4]", probes="value vmap")
each("reduce_window", "lax.reduce_window((x, y), (0.0, np.int32(0)), lambda a, b: (a[0] + b[0], "
     "lax.max(a[1], b[1])), (2,), (1,), 'VALID')", x="f32[4]", y="i32[4]", probes="value vmap")
SHAPE = "lax.reduce_window_shape_tuple("
each("reduce_window_shape_tuple", SHAPE + "(5, 6), (2, 3), (1, 2), ((0, 1), (1, 1)))",
     probes="eager")
each("reduce_window_shape_tuple", SHAPE + "(5,), (2,), (1,), ((0, 0),), (2,), (3,))",
     probes="eager")
