"""Contractions of two arrays: dot, dot_general, batch_matmul, and their ragged relatives."""

from .case import Table

# fmt: off
TABLE = Table()
each = TABLE.each
SOME = "f32 f16 bf16 f64 c64 i32 i8 u8"

each("dot", "lax.dot(x, y)", dtypes=SOME, x="@[2,3]", y="@[3,4] in 0 3")
each("dot", "lax.dot(x, y)", dtypes="f32 i32", x="@[3]", y="@[3] in 0 3")
each("dot", "lax.dot(x, y)", x="f32[2,3]", y="f32[3]")
each("dot", "lax.dot(x, y)", x="f32[0,3]", y="f32[3,2]")
each("dot", "lax.dot(x, y)", x="f32[2,0]", y="f32[0,2]")
each("dot", "lax.dot(x, y, preferred_element_type=np.float32)", dtypes="bf16 f16 i8", x="@[2,3]",
     y="@[3,2] in 0 3")
each("dot", "lax.dot(x, y, precision=lax.Precision.HIGHEST)", x="f32[2,3]", y="f32[3,2]")
each("dot", "lax.dot(x, y, dimension_numbers=(((0,), (1,)), ((), ())))", x="f32[3,2]", y="f32[4,3]")
each("dot_general", "lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))))", dtypes=SOME,
     x="@[2,3,4]", y="@[2,4,2] in 0 3")
each("dot_general", "lax.dot_general(x, y, (((), ()), ((), ())))", x="f32[2]", y="f32[3]")
each("dot_general", "lax.dot_general(x, y, (((0, 2), (1, 0)), ((), ())))", x="f32[2,3,4]",
     y="f32[4,2,2]")
each("dot_general", "lax.dot_general(x, y, (((1,), (1,)), ((), ())), "
     "preferred_element_type='float32')",
     dtypes="bf16 f32", x="@[2,3]", y="@[4,3] in 0 1")
each("dot_general", "lax.dot_general(x, y, (((1,), (0,)), ((), ())), "
     "precision=('highest', 'default'))",
     x="f32[2,3]", y="f32[3,4]")
each("dot_general", "lax.dot_general(x, y, (((1,), (0,)), ((), ())))", dtypes="f32", x="f32[2,3]",
     y="bf16[3,4]")
each("dot_general", "lax.dot_general(x, y, (((1,), (0,)), ((), ())))", dtypes="bool", x="@[2,3]",
     y="@[3,4]")
each("dot_general", "lax.dot_general(x, y, (((), ()), ((0,), (1,))))", x="f32[3,2]", y="f32[2,3]")
each("batch_matmul", "lax.batch_matmul(x, y)", dtypes="f32 bf16 c64 i32", x="@[2,3,4]",
     y="@[2,4,2] in 0 3")
each("batch_matmul", "lax.batch_matmul(x, y, precision='high')", x="f32[2,3,4]", y="f32[2,4,2]")

each("ragged_dot", "lax.ragged_dot(x, y, g)", dtypes="f32 bf16", x="@[6,3]", y="@[2,3,4]",
     g="i32[2] in 3 3", mapped="x y")
each("ragged_dot", "lax.ragged_dot(x, y, g)", x="f32[6,3]", y="f32[2,3,4]", g="i32[2] in 1 2")
each("ragged_dot", "lax.ragged_dot(x, y, g, preferred_element_type=np.float32)", dtypes="bf16",
     x="@[4,3]", y="@[2,3,4]", g="i32[2] in 2 2", mapped="x")
RAGGED = "lax.RaggedDotDimensionNumbers((((1,), ({0},)), ((), ())), {1}, {2})"
each("ragged_dot_general", "lax.ragged_dot_general(x, y, g, "
     + RAGGED.format(1, "[0]", "[0]") + ")", dtypes="f32 f16", x="@[6,3]", y="@[2,3,4]",
     g="i32[2] in 3 3", mapped="x y")
each("ragged_dot_general", "lax.ragged_dot_general(x, y, g, "
     + RAGGED.format(0, "[1]", "[]") + ")", x="f32[3,6]", y="f32[6,4]", g="i32[2] in 3 3",
     mapped="x y")
each("scaled_dot", "lax.scaled_dot(x, y)", dtypes="bf16 f32", x="@[2,32]", y="@[32,3]")
each("scaled_dot", "lax.scaled_dot(x, y, preferred_element_type=np.float32)", x="bf16[2,32]",
     y="bf16[32,3]")
