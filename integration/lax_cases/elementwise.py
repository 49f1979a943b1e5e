"""Elementwise functions: every family of dtypes, scalars, empty arrays, corners of values."""

import numpy as np

from .case import ALL, COMPLEX, FLOATS, INTS, NUMBERS, REALS, Table

# fmt: off
TABLE = Table()
each = TABLE.each

# One operand

each("exp exp2 expm1 log1p sin cos tan tanh logistic sinh cosh asinh", "lax.{name}(x)",
     dtypes=FLOATS, x="@[2,3]")
each("atan", "lax.atan(x)", dtypes=FLOATS, x="@[2,3] in -0.9 0.9")
each("log log2 sqrt rsqrt cbrt", "lax.{name}(x)", dtypes=REALS, x="@[2,3] in 0.1 4")
each("log log2 sqrt rsqrt", "lax.{name}(x)", dtypes=COMPLEX, x="@[2,3]")
each("acos asin atanh", "lax.{name}(x)", dtypes=FLOATS, x="@[2,3] in -0.9 0.9")
each("acosh", "lax.acosh(x)", dtypes=FLOATS, x="@[2,3] in 1.1 3")
each("floor ceil", "lax.{name}(x)", dtypes=REALS, x="@[2,3]")
each("round", "lax.round(x)", dtypes=REALS, x="@[2,3]")
each("round", "lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)",
     x=np.array([0.5, 1.5, -2.5, 2.6], np.float32))
each("is_finite", "lax.is_finite(x)", dtypes=REALS, x="@[2,3]")
each("is_finite", "lax.is_finite(x)", x=np.array([np.inf, np.nan, 1.0], np.float32))
each("neg sign abs", "lax.{name}(x)", dtypes=f"{FLOATS} i32 i8 i64", x="@[2,3]")
each("neg sign", "lax.{name}(x)", dtypes="u8 u32", x="@[2,3]")
each("square", "lax.square(x)", dtypes=NUMBERS, x="@[2,3]")
each("one_minus_square", "lax.one_minus_square(x)", dtypes=FLOATS, x="@[2,3]")
each("reciprocal", "lax.reciprocal(x)", dtypes=FLOATS, x="@[2,3] in 0.5 2")
each("real imag conj", "lax.{name}(x)", dtypes=COMPLEX, x="@[2,3]")
each("conj", "lax.conj(x)", dtypes="f32 f64", x="@[2,3]")
each("bitwise_not", "lax.bitwise_not(x)", dtypes=f"{INTS} bool", x="@[2,3]")
each("population_count clz", "lax.{name}(x)", dtypes=INTS, x="@[2,3]")
for power in (3, 0, 1, 2, -1, -2, 7):
    each("integer_pow", f"lax.integer_pow(x, {power})",
         dtypes="f32 c64 bf16 f64" if power == 3 else "f32", x="@[2,3] in 0.5 2")
each("integer_pow", "lax.integer_pow(x, 3)", dtypes=INTS, x="@[2,3]")
each("exp sin neg abs square sqrt", "lax.{name}(x)", x=1.5)
each("exp sin neg square cos log", "lax.{name}(x)", x="f32[] in 0.1 2")
each("exp sin neg abs square sign floor", "lax.{name}(x)", x="f32[2,0]")
each("exp log sin tanh logistic sqrt rsqrt expm1 log1p", "lax.{name}(x)", probes="value",
     x=np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-38, 1e38], np.float32))

# Two operands

each("add sub mul", "lax.{name}(x, y)", dtypes=NUMBERS, x="@[2,3]", y="@[2,3] in 1 3")
each("div", "lax.div(x, y)", dtypes=NUMBERS, x="@[2,3]", y="@[2,3] in 1 3")
each("rem", "lax.rem(x, y)", dtypes=f"{REALS} {INTS}", x="@[2,3] in 0 6", y="@[2,3] in 1 3")
each("max min", "lax.{name}(x, y)", dtypes=f"{REALS} c64 {INTS} bool", x="@[2,3]",
     y="@[2,3] in 0 3")
each("pow", "lax.pow(x, y)", dtypes=FLOATS, x="@[2,3] in 0.5 2", y="@[2,3] in 0.5 3")
each("pow", "lax.pow(x, y)", dtypes="f32 f64 c64 bf16", x="@[2,3] in 0.5 2", y="i32[2,3] in 0 3")
each("pow", "lax.pow(x, 3)", x="f32[2,3] in 0.5 2")
each("pow", "lax.pow(x, 2.5)", x="f32[2,3] in 0.5 2")
each("atan2", "lax.atan2(x, y)", dtypes=REALS, x="@[2,3]", y="@[2,3] in 0.5 2")
each("atan2", "lax.atan2(x, y)", dtypes="c64", x="@[2,3]", y="@[2,3] in 0.5 2")
each("nextafter", "lax.nextafter(x, y)", dtypes="f32 f64", x="@[2,3]", y="@[2,3]")
each("complex", "lax.complex(x, y)", dtypes="f32 f64", x="@[2,3]", y="@[2,3] in 0 1")
each("eq ne lt le gt ge", "lax.{name}(x, y)", dtypes=f"{REALS} {INTS} bool", x="@[2,3] in 0 3",
     y="@[2,3] in 0 3")
each("eq ne", "lax.{name}(x, y)", dtypes="c64", x="@[2,3]", y="@[2,3]")
each("bitwise_and bitwise_or bitwise_xor", "lax.{name}(x, y)", dtypes=f"{INTS} bool", x="@[2,3]",
     y="@[2,3] in 0 9")
each("shift_left shift_right_logical shift_right_arithmetic", "lax.{name}(x, y)", dtypes=INTS,
     x="@[2,3]", y="@[2,3] in 0 4")
each("shift_left shift_right_logical shift_right_arithmetic", "lax.{name}(x, y)", probes="value",
     x="i32[2,3]", y=np.array([[0, 31, 32], [33, -1, 5]], np.int32))
each("mulhi", "lax.mulhi(x, y)", dtypes="i32 u32 i64", x="@[2,3] in 0 2000000000",
     y="@[2,3] in 0 2000000000")
each("add sub mul div max pow atan2", "lax.{name}(x, y)", x="f32[2,3] in 0.5 2", y="f32[] in 1 2")
each("add sub mul div", "lax.{name}(x, y)", x="f32[2,1]", y="f32[1,3] in 1 2")
each("add sub mul div max", "lax.{name}(x, y)", dtypes="f32 bf16", x="@[2,3]", y=2.0)
each("add sub mul div max", "lax.{name}(x, y)", x=2, y="f32[3] in 1 2")
each("add mul sub", "lax.{name}(x, y)", dtypes="i32 i8 u8", x="@[2,3]", y=3)
each("add mul", "lax.{name}(x, y)", x=1.5, y=2)
each("add mul max lt", "lax.{name}(x, y)", x="f32[0,3]", y="f32[0,3] in 0 1")
each("max min", "lax.{name}(x, y)", x=np.array([1, 2, 2, np.nan], np.float32),
     y=np.array([1, 3, 1, 1], np.float32))
each("div rem", "lax.{name}(x, y)", dtypes="i32 u8", x="@[2,3]", y="@[2,3] in 0 0", probes="value")
each("div rem", "lax.{name}(x, y)", probes="value", x=np.array([-7, 7, -8], np.int32),
     y=np.array([3, -3, -1], np.int32))
each("mul", "lax.mul(x, y, out_dtype=np.float32)", dtypes="bf16 f16", x="@[2,3]", y="@[2,3]")

# Three operands and more

each("clamp", "lax.clamp(a, x, b)", dtypes=f"{REALS} {INTS}", a="@[2,3] in 0 1", x="@[2,3]",
     b="@[2,3] in 2 3")
each("clamp", "lax.clamp(a, x, b)", a="f32[] in -1 0", x="f32[2,3]", b="f32[] in 0 1")
each("clamp", "lax.clamp(0.0, x, 1.0)", dtypes="f32 bf16", x="@[2,3]")
each("select", "lax.select(p, x, y)", dtypes=ALL, p="bool[2,3]", x="@[2,3]", y="@[2,3] in 0 1")
each("select", "lax.select(p, x, y)", p="bool[]", x="f32[2,3]", y="f32[2,3] in 0 1")
each("select_n", "lax.select_n(p, x, y)", dtypes="f32 i32 c64 bool", p="bool[2,3]", x="@[2,3]",
     y="@[2,3] in 0 1")
each("select_n", "lax.select_n(p, x, y, z)", dtypes="f32 u8", p="i32[2,3] in 0 2", x="@[2,3]",
     y="@[2,3] in 0 1", z="@[2,3] in 0 3")
each("select_n", "lax.select_n(p, x, y, z)", p="i32[8] in -3 6", x="f32[8]", y="f32[8]",
     z="f32[8]")

# Special functions

each("erf erfc", "lax.{name}(x)", dtypes=REALS, x="@[2,3]")
each("erf_inv", "lax.erf_inv(x)", dtypes=REALS, x="@[2,3] in -0.9 0.9")
each("lgamma digamma", "lax.{name}(x)", dtypes=REALS, x="@[2,3] in 0.5 4")
each("lgamma digamma", "lax.{name}(x)", probes="value",
     x=np.array([-1.5, 0.0, -1.0, 30.0, np.inf, np.nan], np.float32))
each("bessel_i0e bessel_i1e", "lax.{name}(x)", dtypes=REALS, x="@[2,3] in 0.1 10")
each("igamma igammac", "lax.{name}(a, x)", dtypes="f32 f64 bf16", a="@[2,3] in 0.5 4",
     x="@[2,3] in 0.5 4", rtol=2e-4)
each("igamma_grad_a random_gamma_grad", "lax.{name}(a, x)", dtypes="f32 f64", a="@[2,3] in 0.5 4",
     x="@[2,3] in 0.5 4", probes="value vmap", rtol=2e-4)
each("polygamma", "lax.polygamma(m, x)", m=np.array([0, 1, 2], np.float32), x="f32[3] in 0.5 4",
     diff="x", rtol=1e-4)
each("polygamma", "lax.polygamma(m, x)", m=np.array([0, 1, 2], np.float64), x="f64[3] in 0.5 4",
     diff="x", rtol=1e-9)
each("zeta", "lax.zeta(x, q)", dtypes="f32 f64", x="@[2,3] in 1.5 4", q="@[2,3] in 0.5 4",
     probes="value vmap", rtol=1e-5)
each("betainc", "lax.betainc(a, b, x)", dtypes="f32 f64 bf16", a="@[2,3] in 0.5 4",
     b="@[2,3] in 0.5 4", x="@[2,3] in 0.1 0.9", diff="x", rtol=2e-4)

for coefficients in ("(a, b)", "(a, b, a)", "(1, 2.5, a)", "(a,)"):
    each("polynomial", f"lax.polynomial(x, {coefficients})", dtypes=f"{FLOATS} i32 u8", x="@[2,3]",
         a="@[2,3]", b="@[2,3] in 0 1")
for unroll in (1, 2, True, False):
    each("polynomial", f"lax.polynomial(x, [a, b, a, b], unroll={unroll})", dtypes="f32 i32",
         x="@[2,3]", a="@[2,3]", b="@[2,3] in 0 1")

# Conversions

for target in ("bool_", "int8", "int32", "uint8", "uint32", "float16", "float32", "complex64"):
    each("convert_element_type", f"lax.convert_element_type(x, np.{target})", dtypes="f32 i32 bool",
         x="@[2,3] in 0 3")
each("convert_element_type", "lax.convert_element_type(x, jnp.bfloat16)", dtypes="f32 i32 f16",
     x="@[2,3]")
each("convert_element_type", "lax.convert_element_type(x, np.complex64)", dtypes="c64 bf16",
     x="@[2,3]")
each("convert_element_type", "lax.convert_element_type(x, np.float64)", dtypes="f32 i64 bool",
     x="@[2,3]", x64=True)
each("convert_element_type", "lax.convert_element_type(x, float)", dtypes="i32 f32", x="@[2,3]")
each("convert_element_type", "lax.convert_element_type(x, np.int32)", x=2.7)
each("convert_element_type", "lax.convert_element_type(x, np.float32)", x="i32[0,2]")
for source, target in (
    ("f32", "uint32"),
    ("i32", "float32"),
    ("f16", "int16"),
    ("u8", "int8"),
    ("f32", "uint8"),
    ("i64", "float64"),
    ("u32", "uint16"),
):
    each("bitcast_convert_type", f"lax.bitcast_convert_type(x, np.{target})", dtypes=source,
         x="@[2,3]", probes="value vmap")
each("bitcast_convert_type", "lax.bitcast_convert_type(x, np.float32)", x="u8[2,4] in 0 100",
     probes="value vmap")
each("reduce_precision", "lax.reduce_precision(x, 5, 4)", dtypes="f32 f16 f64 bf16", x="@[2,3]")
each("reduce_precision", "lax.reduce_precision(x, 8, 7)", x="f32[3]")
each("reduce_precision", "lax.reduce_precision(x, exponent_bits=4, mantissa_bits=0)", x=1.3)
each("dtype", "str(lax.dtype(x))", dtypes="f32 bf16 bool", x="@[2]", probes="eager")
each("dtype", "str(lax.dtype(x))", x=1.5, probes="eager")
each("stop_gradient", "lax.stop_gradient(x)", dtypes="f32 i32 c64", x="@[2,3]")
each("stop_gradient", "lax.stop_gradient({'a': x, 'b': (y,)})", x="f32[2]", y="f32[]")
