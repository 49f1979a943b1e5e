"""Functions that act element by element: every dtype, mixed ones, scalars, corners, bad calls."""

from .case import ALL, COMPLEX, FLOATS, INTS, ORDERED, REALS, Table

# fmt: off
TABLE = Table()
add, bad = TABLE.add, TABLE.bad

# One operand

FLOATING = (
    "sin cos tan sinh cosh tanh arctan arcsinh exp exp2 expm1 atan asinh deg2rad rad2deg radians "
    "degrees")
BOUNDED = "arcsin arccos arctanh asin acos atanh"
POSITIVE = "log log2 log10 log1p sqrt"
ABOVE_ONE = "arccosh acosh"
ANY = (
    "abs absolute negative positive sign square conj conjugate real imag isfinite isinf isnan "
    "iscomplex isreal logical_not angle")
ROUNDING = "floor ceil trunc rint"
add(FLOATING, "{f}(@[2,3])", dtypes=ALL)
add(BOUNDED, "{f}(@[2,3 in -0.9 0.9])", dtypes=FLOATS)
add(POSITIVE, "{f}(@[2,3 in 0.1 4])", dtypes=FLOATS)
add(ABOVE_ONE, "{f}(@[2,3 in 1.1 4])", dtypes=FLOATS)
add(f"{BOUNDED} {POSITIVE} {ABOVE_ONE}", "{f}(@[3 in 1 1])", dtypes="i32 u8 i64", derive="none")
add(ANY.replace("negative ", "").replace("sign ", ""), "{f}(@[2,3])", dtypes=ALL)
add("negative sign", "{f}(@[2,3])", dtypes=f"{FLOATS} {INTS}")
add("reciprocal", "{f}(@[2,3 in 0.5 2])", dtypes=FLOATS)
add("reciprocal", "{f}(@[2,3 in 1 4])", dtypes="i32 u8 i64 bool", derive="none")
add("cbrt fabs sinc i0", "{f}(@[2,3])", dtypes=f"{REALS} i32 u8 bool i64")
add("sinc", "{f}(@[2,3])", dtypes=COMPLEX)
add(ROUNDING, "{f}(@[2,3])", dtypes=ORDERED)
add("spacing", "{f}(@[2,3])", dtypes="f32 f16 bf16 f64", derive="none")
add("signbit", "{f}(@[2,3])", dtypes=f"{REALS} i32 i8 u8 i64 bool")
add("isposinf isneginf", "{f}(@[2,3])", dtypes=ORDERED)
add("invert bitwise_not bitwise_invert", "{f}(@[2,3])", dtypes=f"{INTS} u32 bool")
add("bitwise_count", "{f}(@[2,3])", dtypes=f"{INTS} u32 i16 bool")
NUMERIC = f"{FLOATING} {ANY} reciprocal sinc"
add(f"{FLOATING} {BOUNDED} {POSITIVE} {ABOVE_ONE} {ANY} {ROUNDING} reciprocal cbrt fabs sinc i0 "
    "signbit isposinf isneginf spacing", """
    {f}(CORNERS)
    {f}(1)
    {f}(1.0)
    {f}(f32[])
    {f}(f32[0,3])
    """, derive="none")
add(f"{FLOATING} {ANY} log sqrt log1p log10 log2", "{f}(CNAN)", derive="none")
add(f"{FLOATING} {ANY.replace('negative', '').replace('sign', '')} log sqrt log1p", "{f}(True)",
    derive="none")
add(f"{FLOATING} {ANY} log sqrt log1p", """
    {f}(0.5j)
    {f}(np.float16(0.5))
    """, derive="none")
add("round around", """
    {f}(@[2,3])
    {f}(@[2,3], 1)
    """, dtypes=f"{FLOATS} i32 i8 u8 i64")
add("round around", "{f}(@[2,3], decimals=-1)", dtypes=FLOATS, derive="none")
add("round around", """
    {f}(CORNERS)
    {f}(HALVES)
    {f}(1.2345, 2)
    {f}(f32[0])
    """, derive="none")
add("angle", "{f}(@[])\n{f}(@[2])\n{f}(@[], deg=True)", dtypes=ORDERED, derive="none")
add("angle", "{f}(c64[3], deg=True)\n{f}(f32[3], True)\n{f}(i32[3], deg=True)", derive="none")
add("nan_to_num", """
    {f}(@[2,3])
    {f}(CORNERS)
    {f}(CORNERS, nan=1.5)
    {f}(CORNERS, nan=7, posinf=1e3, neginf=-1e3)
    {f}(CNAN)
    {f}(CNAN, nan=2.0, posinf=9.0)
    {f}(HALVES)
    {f}(np.nan)
    {f}(3)
    """, dtypes=ALL)
add("unwrap", """
    {f}(f32[7 in -9 9])
    {f}(f32[2,5 in -9 9], axis=0)
    {f}(f32[7 in -9 9], discont=4.0)
    {f}(f32[7 in -9 9], period=4.0)
    {f}(i32[7 in -9 9], period=4)
    {f}(i32[7 in -9 9], period=5)
    {f}(f16[7 in -9 9])
    {f}(f32[0])
    """)
add("modf frexp", """
    {f}(@[2,3 in -9 9])
    {f}(CORNERS)
    {f}(2.5)
    {f}(3)
    {f}(f32[0])
    """, dtypes="f32 f16 bf16 f64", derive="first")
add("modf", "{f}(i32[3])", derive="none")
UNARY = f"{FLOATING} {BOUNDED} {POSITIVE} {ABOVE_ONE} {ANY} {ROUNDING} cbrt fabs"
bad(UNARY, "{f}([1.0, 2.0])\n{f}('a')")
bad("reciprocal sinc i0 spacing signbit isposinf isneginf invert bitwise_not bitwise_invert "
    "bitwise_count nan_to_num unwrap modf frexp round around", """
    {f}([1.0, 2.0])
    {f}(None)
    {f}('a')
    {f}()
    """)
bad("sin exp abs negative sign floor isnan iscomplex real", """
    {f}(None)
    {f}()
    {f}(f32[2], f32[2], f32[2])
    {f}(object())
    {f}(np.array(['a']))
    {f}(np.array([None]))
    """)
bad("sin exp abs negative", "{f}(x=1.0)")
bad("invert bitwise_not bitwise_invert bitwise_count", "{f}(f32[2])\n{f}(c64[2])")
bad("floor ceil trunc cbrt fabs spacing signbit isposinf isneginf i0 modf frexp",
    "{f}(c64[2])")
bad("negative sign", "{f}(bool[2])")
bad("modf", "{f}(f32[2], out=f32[2])")
bad("isposinf isneginf", "{f}(f32[2], out=f32[2])")
bad("round around", """
    {f}(i32[3], -1)
    {f}(12345, -2)
    {f}(f32[2], out=f32[2])
    {f}(f32[2], 1.5)
    {f}(f32[2], f32[])
    """)
bad("unwrap", "{f}(f32[])\n{f}(f32[3], axis=2)\n{f}(c64[3])")

# Two operands

ARITHMETIC = "add multiply"
DIVISION = "divide true_divide"
MODULAR = "floor_divide mod remainder"
COMPARISON = "equal not_equal less less_equal greater greater_equal"
LOGICAL = "logical_and logical_or logical_xor"
BITS = "bitwise_and bitwise_or bitwise_xor"
SHIFTS = "left_shift right_shift bitwise_left_shift bitwise_right_shift"
EXTREME = "maximum minimum fmax fmin"
REAL_TWO = "arctan2 atan2 hypot logaddexp2 copysign heaviside"
add(ARITHMETIC, "{f}(@[2,3], @[2,3])", dtypes=ALL)
add("subtract", "{f}(@[2,3], @[2,3])", dtypes=f"{FLOATS} {INTS}")
add(f"{DIVISION} float_power", "{f}(@[2,3 in 1 4], @[2,3 in 1 3])", dtypes=ALL)
add(MODULAR, "{f}(@[2,3 in -7 7], @[2,3 in 1 3])", dtypes=f"{REALS} i32 i8 i64")
add(f"{MODULAR} fmod divmod", "{f}(@[2,3 in 0 7], @[2,3 in 1 3])", dtypes="u8 u32", derive="none")
add("fmod divmod", "{f}(@[2,3 in -7 7], @[2,3 in 1 3])", dtypes=f"{REALS} i32 i8 i64")
add("power pow", "{f}(@[2,3 in 0.5 2], @[2,3 in 0.5 3])", dtypes=FLOATS)
add("power pow", "{f}(@[2,3 in 0 3], @[2,3 in 0 3])", dtypes="i32 i8 u8 i64", derive="none")
add(COMPARISON, "{f}(@[2,3 in 0 2], @[2,3 in 0 2])", dtypes=ALL)
add(LOGICAL, "{f}(@[2,3 in 0 1], @[2,3 in 0 1])", dtypes=ALL)
add(BITS, "{f}(@[2,3], @[2,3])", dtypes=f"{INTS} u32 bool")
# Weakly typed operands stay so beside one of NumPy's scalars of a lower kind.
WEAK_BESIDE = """
    {f}(jnp.asarray(0.5), np.int32(2))
    {f}(np.uint8(2), jnp.asarray(0.5))
    {f}(jnp.asarray(2), np.bool_(True))
    {f}(jnp.asarray(0.5), np.array(2))
    """
add("add multiply maximum", WEAK_BESIDE, derive="none")
add("add multiply maximum", WEAK_BESIDE, derive="none", x64=True)
add("subtract", "{f}(np.float32(0.5), jnp.asarray(0.5j))", derive="none")
add(SHIFTS, "{f}(@[2,3], @[2,3 in 0 5])", dtypes=f"{INTS} u32")
add(SHIFTS, "{f}(i32[5 in -9 9], np.array([0, 31, 32, 33, 7], np.int32))", derive="none")
add(EXTREME, "{f}(@[2,3], @[2,3])", dtypes=ALL)
add(REAL_TWO, "{f}(@[2,3], @[2,3])", dtypes=f"{REALS} i32 u8 bool i64")
add("nextafter", "{f}(@[2,3], @[2,3])", dtypes=f"{REALS} i32 u8 bool i64", derive="none")
add("logaddexp", "{f}(@[2,3], @[2,3])", dtypes=f"{FLOATS} i32")
add("ldexp", "{f}(@[2,3], i32[2,3])", dtypes=f"{REALS} i32", mapped="x0 x1")
add("gcd lcm", "{f}(@[2,3 in 0 60], @[2,3 in 1 9])", dtypes="i32 i8 u8 i64 u32")
add("gcd lcm", "{f}(i32[4 in -9 9], i32[4 in -9 9])\n{f}(0, 0)\n{f}(12, 18)", derive="none")

# Mixed types, scalars, shapes, corners
MIXABLE = (
    f"{ARITHMETIC} subtract {DIVISION} {MODULAR} power float_power {COMPARISON} {LOGICAL} "
    f"maximum fmin arctan2 hypot logaddexp copysign")
add(MIXABLE, """
    {f}(f32[2,1 in 1 2], f32[1,3 in 1 2])
    {f}(f32[2,3 in 1 2], f32[])
    {f}(f32[2,3 in 1 2], 2)
    {f}(2.5, f32[3 in 1 2])
    {f}(i32[3 in 1 4], 1.5)
    {f}(i32[3 in 1 4], f32[3 in 1 4])
    {f}(u8[3 in 1 4], i8[3 in 1 4])
    {f}(f16[3 in 1 4], bf16[3 in 1 4])
    {f}(f16[3 in 1 4], i32[3 in 1 4])
    {f}(2, 3)
    {f}(2.0, 3)
    {f}(True, 2)
    {f}(np.float32(2), i32[3 in 1 3])
    {f}(f32[0,3], f32[0,3])
    {f}(i64[3 in 1 4], f32[3 in 1 4])
    """, derive="none")
add(f"{MIXABLE} {EXTREME} nextafter heaviside", "{f}(CORNERS, CORNERS[::-1])", derive="none")
add(f"{ARITHMETIC} subtract divide power equal maximum logical_and", """
    {f}(c64[3], f32[3 in 1 2])
    {f}(i32[3], 2j)
    {f}(CNAN, CNAN)
    """, derive="none")
add("floor_divide mod remainder fmod divmod", """
    {f}(i32[4 in -9 9], np.array([0, -2, 3, 0], np.int32))
    {f}(EXTREMES, np.array([-1, -1, 0, 2, -3], np.int32))
    {f}(u8[3], np.array([0, 2, 3], np.uint8))
    {f}(f32[4 in -9 9], np.array([0, -2, np.inf, -0.0], np.float32))
    {f}(7, -3)
    {f}(-7.5, 2)
    """, derive="none")
add("power pow", """
    {f}(f32[3 in 0.5 2], 3)
    {f}(f32[3 in 0.5 2], 0)
    {f}(f32[3 in -2 2], -2)
    {f}(f32[3 in 0.5 2], 2.5)
    {f}(f32[3 in 0.5 2], i32[3 in -2 3])
    {f}(i32[3], 2)
    {f}(i32[3 in 1 3], 2.0)
    {f}(2, i32[3 in 0 5])
    {f}(2.0, i32[3 in 0 5])
    {f}(c64[3], 2)
    {f}(c64[3], 2.5)
    {f}(bool[3], bool[3])
    {f}(u8[3], 3)
    """, derive="all")
add("float_power", "{f}(i32[3 in 1 3], -2)\n{f}(f32[3 in 1 3], 2)\n{f}(2, 3)", derive="none")
add("maximum minimum", "{f}(TIES, 2)\n{f}(f32[2], f32[2])\n{f}(3, 2.5)", derive="all")
add("ldexp", "{f}(f32[3], 3)\n{f}(2, i32[3 in 0 3])\n{f}(f32[3], u8[3 in 0 4])\n"
    "{f}(CORNERS, i32[8 in -150 150])\n{f}(f32[2,1], i32[1,3])", derive="none")
add("divmod", "{f}(f32[2,1 in 1 9], f32[1,3 in 1 3])\n{f}(i32[3], 2)\n{f}(f32[0], f32[0])",
    derive="none")
BINARY = (
    f"{ARITHMETIC} subtract {DIVISION} {MODULAR} fmod divmod power pow float_power {COMPARISON} "
    f"{LOGICAL} {BITS} {SHIFTS} {EXTREME} {REAL_TWO} nextafter logaddexp ldexp gcd lcm")
bad(BINARY, """
    {f}(i32[2,3], i32[4])
    {f}(i32[2], [1, 2])
    {f}([1, 2], i32[2])
    {f}(i32[2], 'a')
    {f}(i32[2])
    """)
bad("add power equal maximum", "{f}(None, f32[2])\n{f}(f32[2], f32[2], f32[2], f32[2])")
bad("add multiply subtract logical_and maximum bitwise_or",
    "{f}(i32[2], i32[2], out=i32[2])\n{f}(i32[2], i32[2], where=bool[2])")
bad("subtract", "{f}(bool[2], bool[2])\n{f}(True, False)")
bad(f"{BITS} {SHIFTS} gcd lcm", "{f}(f32[2], f32[2])\n{f}(i32[2], 1.5)\n{f}(c64[2], c64[2])")
bad("hypot copysign nextafter heaviside mod remainder fmod divmod floor_divide ldexp",
    "{f}(c64[2], c64[2])")
bad("ldexp", "{f}(f32[2], f32[2])")
bad("power", "{f}(i32[2], -1)")

# Ufuncs as objects

OBJECTS = "add multiply"
add(OBJECTS, """
    {f}.reduce(@[2,3])
    {f}.reduce(f32[2,3], axis=None)
    {f}.reduce(f32[2,3], axis=1, keepdims=True)
    {f}.reduce(f32[2,3,2], axis=(0, -1))
    {f}.reduce(i8[2,3], dtype=np.float32)
    {f}.reduce(f32[2,3], axis=1, initial=2.0)
    {f}.reduce(f32[2,3], where=MASK)
    {f}.accumulate(@[2,3])
    {f}.accumulate(f32[2,3], axis=1)
    {f}.accumulate(i8[2,3], dtype=np.int32)
    {f}.outer(@[2], @[3])
    {f}.outer(i32[2], f32[3,1])
    {f}.at(f32[4], i32[3 in 0 3], f32[3], inplace=False)
    {f}.at(f32[4,2], 1, 2.0, inplace=False)
    {f}.reduceat(f32[5], i32[2 in 0 4])
    {f}.reduceat(f32[5,2], np.array([0, 3, 1]), axis=0)
    """, dtypes="f32 i32 u8 bf16", derive="none")
add("subtract logaddexp logaddexp2 maximum minimum", """
    {f}.reduce(f32[4,3])
    {f}.accumulate(f32[4,3])
    {f}.outer(f32[2], f32[3])
    {f}.at(f32[4], i32[2 in 0 3], f32[2], inplace=False)
    {f}.reduceat(f32[5], np.array([0, 2, 4]))
    """, derive="none")
add("bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor", """
    {f}.reduce(i32[2,3])
    {f}.reduce(bool[2,3], axis=1)
    {f}.accumulate(i32[2,3])
    {f}.outer(i32[2], i32[3])
    {f}.at(i32[4], i32[2 in 0 3], i32[2], inplace=False)
    """, derive="none")
add("negative", "{f}.at(f32[4], i32[2 in 0 3], inplace=False)",
    derive="none")
add(f"{OBJECTS} subtract logaddexp logaddexp2 maximum minimum bitwise_and bitwise_or bitwise_xor "
    "logical_and logical_or logical_xor negative", "({f}.nin, {f}.nout, {f}.nargs, {f}.identity)",
    compiled=False)
bad("add multiply maximum", """
    {f}.at(f32[4], i32[2], f32[2])
    {f}.reduce(f32[2,3], axis=5)
    {f}.reduce(f32[2,3], out=f32[3])
    {f}.accumulate(f32[])
    {f}.outer([1.0], f32[2])
    {f}.reduceat(f32[5], 1.5)
    """)
bad("subtract", "{f}.reduce(f32[2,3], axis=(0, 1))\n{f}.reduce(f32[0,3])")
bad("negative", "{f}.reduce(f32[3])\n{f}.accumulate(f32[3])\n{f}.outer(f32[2], f32[2])")
add("frompyfunc", """
    {f}(lambda x, y: x * y, 2, 1)(f32[3], f32[3])
    {f}(lambda x, y: x * y, 2, 1).reduce(f32[4])
    {f}(lambda x, y: x + y, 2, 1, identity=0).accumulate(i32[4])
    {f}(lambda x, y: x - y, 2, 1).outer(f32[2], f32[3])
    {f}(lambda x, y: (x, y), 2, 2)(f32[2,1], i32[3])
    {f}(lambda x: 2 * x, 1, 1)(f32[3])
    """, derive="none")
bad("frompyfunc", "{f}(3, 1, 1)\n{f}(lambda x: x)\n{f}(lambda x: x, 1.5, 1)")
