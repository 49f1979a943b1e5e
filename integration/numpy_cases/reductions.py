"""Reductions: sums, extremes, means, their variants that skip NaNs, cumulative ones, places."""

from .case import ALL, FLOATS, INTS, ORDERED, Table

# fmt: off
TABLE = Table()
add, bad = TABLE.add, TABLE.bad

SUMS = "sum prod nansum nanprod"
EXTREMES = "max min amax amin nanmax nanmin"
SPREADS = "var std nanvar nanstd"
add(SUMS, "{f}(@[2,3 in 0.5 2])" , dtypes=FLOATS)
add(SUMS, "{f}(@[2,3 in 0 3])", dtypes=f"{INTS} bool u32", derive="none")
add(EXTREMES, "{f}(@[2,3])", dtypes=ALL)
add("mean nanmean", "{f}(@[2,3])", dtypes=ALL)
add(SPREADS, "{f}(@[2,3])", dtypes=ALL)
add("all any count_nonzero", "{f}(@[2,3 in 0 1])", dtypes=ALL, derive="none")
add("ptp", "{f}(@[2,3])", dtypes=ORDERED.replace(" bool", ""))
add("minmax", "{f}(@[2,3])", dtypes=ORDERED)
ALIKE = f"{SUMS} {EXTREMES} mean nanmean"
add(f"{ALIKE} {SPREADS} all any ptp count_nonzero minmax", """
    {f}(f32[2,3,4], axis=0)
    {f}(f32[2,3,4], axis=(0, -1))
    {f}(f32[2,3,4], axis=-2, keepdims=True)
    {f}(f32[2,3], keepdims=True)
    {f}(f32[2,3], axis=())
    {f}(f32[])
    {f}(2.5)
    {f}(3)
    {f}(HOLES)
    """, derive="none")
add(f"{ALIKE} {SPREADS} ptp median nanmedian", "{f}(f32[2,3,4], axis=(0, 2))\n"
    "{f}(f32[2,3], axis=1, keepdims=True)", derive="all")
add("sum prod nansum nanprod mean nanmean var std nanvar nanstd all any count_nonzero", """
    {f}(f32[0,3])
    {f}(f32[0,3], axis=0)
    {f}(f32[2,0], axis=0)
    """, derive="none")
add(f"{EXTREMES} ptp minmax", "{f}(f32[0,3], axis=1)", derive="none")
add("sum prod nansum nanprod mean nanmean var std nanvar nanstd cumsum cumprod", """
    {f}(i32[2,3], dtype=np.float32)
    {f}(f32[2,3], dtype='float16')
    {f}(f32[2,3], dtype=jnp.complex64)
    """, derive="none")
add("sum prod nansum nanprod", """
    {f}(i8[2,3], dtype=np.int8)
    {f}(f32[2,3], axis=1, initial=2.0)
    {f}(i32[2,3], initial=1.5)
    {f}(f32[2,3], where=MASK)
    {f}(f32[2,3], axis=0, where=MASK3, initial=1)
    {f}(f32[2,3], where=UNSET)
    {f}(f32[2,3], where=False)
    """, derive="none")
add("sum prod", "{f}(u8[2,3], promote_integers=False)\n{f}(bool[2,3], promote_integers=False)\n"
    "{f}(i8[2,3], promote_integers=True)", derive="none")
add(EXTREMES, """
    {f}(f32[2,3], axis=1, initial=0.5)
    {f}(f32[2,3], where=MASK, initial=-1.0)
    {f}(i32[2,3], where=MASK3, initial=3, axis=0, keepdims=True)
    {f}(f32[0,3], axis=0, initial=1.0)
    {f}(TIES, axis=1)
    {f}(CNAN)
    {f}(CORNERS)
    """, derive="none")
add("max min amax nanmin", "{f}(TIES * 1.0, axis=1)", diff="", derive="first", mapped="TIES")
add("mean nanmean var std nanvar nanstd all any", """
    {f}(f32[2,3], where=MASK)
    {f}(f32[2,3], axis=0, where=MASK3)
    {f}(f32[2,3], where=UNSET)
    """, derive="none")
add(SPREADS, """
    {f}(f32[2,3], ddof=1)
    {f}(f32[2,3], axis=0, ddof=2)
    {f}(f32[2,3], ddof=7)
    {f}(f32[2,3], ddof=0.5)
    {f}(f32[2,3], axis=1, mean=f32[2,1])
    {f}(c64[2,3], axis=1)
    {f}(i32[2,3], axis=1, ddof=1)
    """, derive="none")
add("var std", "{f}(f32[2,3], correction=1)\n{f}(f32[2,3], axis=1, correction=0.5)", derive="none")
add("minmax", """
    {f}(f32[2,3], axis=1, keepdims=True)
    {f}(f32[2,3], initial=0.5)
    {f}(f32[2,3], initial=(1.0, -1.0), where=MASK)
    """, derive="all")
add(f"{SUMS} {EXTREMES} mean nanmean {SPREADS} all any", """
    {f}(HOLES, axis=1)
    {f}(NOTHING, axis=0)
    {f}(NOTHING, axis=1, keepdims=True)
    """, derive="none")
add("nansum nanprod nanmax nanmin nanmean nanvar nanstd", "{f}(HOLES)\n{f}(CNAN)\n{f}(HALVES)",
    derive="first")
bad(f"{ALIKE} {SPREADS} all any ptp count_nonzero", """
    {f}([1.0, 2.0])
    {f}('a')
    {f}(f32[2,3], axis=2)
    {f}(f32[2,3], axis=(0, 0))
    {f}(f32[2,3], axis=1.5)
    {f}(f32[2,3], axis='a')
    {f}()
    """)
bad(f"{ALIKE} {SPREADS} all any ptp", """
    {f}(f32[2,3], out=f32[3])
    {f}(f32[2,3], None, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    """)
bad(f"{SUMS} {EXTREMES} mean nanmean {SPREADS} all any", "{f}(f32[2,3], where=bool[4])")
bad(EXTREMES, "{f}(f32[0,3])\n{f}(f32[0,3], axis=0)\n{f}(f32[2,3], where=MASK)")
bad("ptp minmax", "{f}(f32[0])")
bad("sum prod mean", "{f}(f32[2,3], dtype='nonsense')")
bad("sum prod max min", "{f}(f32[2,3], initial=f32[2])")
bad("var std", "{f}(f32[2,3], ddof=1, correction=1)\n{f}(c64[2,3], dtype=np.float32)")
bad("minmax", "{f}([1.0])\n{f}(f32[2,3], axis=2)\n{f}(f32[2,3], out=f32[3])\n"
    "{f}(f32[2,3], initial=(1, 2, 3))")

# Averages and order statistics

add("average", """
    {f}(@[2,3])
    {f}(f32[2,3], weights=f32[2,3 in 0 1])
    {f}(f32[2,3], axis=1, weights=f32[3 in 0 1])
    {f}(f32[2,3], axis=0, weights=i32[2 in 1 4], returned=True)
    {f}(f32[2,3], returned=True)
    {f}(i32[2,3], axis=1, keepdims=True)
    {f}(f32[2,3,4], axis=(0, 2), weights=f32[2,4 in 0 1])
    {f}(f32[0])
    {f}(2)
    """, dtypes=ALL, derive="all")
bad("average", "{f}(f32[2,3], weights=f32[3])\n{f}(f32[2,3], axis=1, weights=f32[2])\n"
    "{f}([1.0])\n{f}(f32[2,3], axis=3)\n{f}(f32[2,3], axis=1, weights=f32[2,2])")
add("median nanmedian", """
    {f}(@[2,5])
    {f}(f32[2,4])
    {f}(f32[2,4], axis=0)
    {f}(f32[2,3,4], axis=(0, 2), keepdims=True)
    {f}(f32[2,4], keepdims=True, overwrite_input=False)
    {f}(HOLES, axis=1)
    {f}(NOTHING, axis=1)
    {f}(3)
    {f}(f32[])
    """, dtypes=ORDERED)
QUANTILES = "quantile nanquantile"
PERCENTILES = "percentile nanpercentile"
for names, half, several in (
    (QUANTILES, "0.5", "f32[3 in 0 1]"), (PERCENTILES, "30", "f32[3 in 0 90]")
):
    add(names, f"""
        {{f}}(@[2,5], {half})
        {{f}}(f32[2,5], {several})
        {{f}}(f32[2,5], {several}, axis=1)
        {{f}}(f32[2,5], {half}, axis=-1, keepdims=True)
        {{f}}(f32[2,3,4], {several}, axis=(0, 2), keepdims=True)
        {{f}}(HOLES, {half}, axis=1)
        {{f}}(NOTHING, {half}, axis=1)
        {{f}}(HOLES, {several}, axis=0)
        {{f}}(i32[5], {half})
        {{f}}(f32[5], 0.0)
        {{f}}(f32[5], 1.0)
        {{f}}(f32[], {half})
        """, dtypes="f32 f16 bf16 i32 u8 bool f64 i64")
    add(names, "\n".join(f"{{f}}(f32[6], {several}, method='{m}')" for m in
        "linear lower higher nearest midpoint inverted_cdf".split())
        + f"\n{{f}}(i32[2,6], {several}, axis=1, method='lower')",
        derive="first")
    add(names, f"{{f}}(f32[6], {half}, weights=f32[6 in 0.1 1], method='inverted_cdf')\n"
        f"{{f}}(f32[2,6], {several}, axis=1, weights=f32[6 in 0.1 1], method='inverted_cdf')\n"
        f"{{f}}(f32[2,6], {half}, axis=1, weights=f32[2,6 in 0.1 1], method='inverted_cdf')",
        derive="none")
    bad(names, f"""
        {{f}}(f32[6], {half}, method='nonsense')
        {{f}}([1.0], {half})
        {{f}}(f32[6])
        {{f}}(f32[6], {half}, axis=1)
        {{f}}(c64[6], {half})
        {{f}}(f32[6], {half}, out=f32[])
        {{f}}(f32[6], [0.5])
        {{f}}(f32[6], {half}, overwrite_input=True)
        {{f}}(f32[6], {half}, weights=f32[6])
        {{f}}(f32[6], {half}, weights=f32[5], method='inverted_cdf')
        {{f}}(f32[6], {half}, method='hazen')
        """)
bad("median nanmedian", """
    {f}([1.0])
    {f}(f32[3], axis=1)
    {f}(c64[3])
    {f}(f32[3], out=f32[])
    {f}(f32[3], overwrite_input=True)
    """)

# Cumulative

CUMULATIVE = "cumsum cumprod nancumsum nancumprod"
add(CUMULATIVE, "{f}(@[2,3 in 0.5 2])", dtypes=FLOATS)
add(CUMULATIVE, "{f}(@[2,3 in 0 3])", dtypes=f"{INTS} bool", derive="none")
add(CUMULATIVE, """
    {f}(f32[2,3], axis=1)
    {f}(f32[2,3], axis=-2)
    {f}(i8[2,3], axis=0, dtype=np.int8)
    {f}(HOLES)
    {f}(HOLES, axis=1)
    {f}(f32[0])
    {f}(f32[0,2], axis=1)
    {f}(f32[])
    {f}(3)
    {f}(2.5)
    """, derive="none")
add("cumulative_sum cumulative_prod", """
    {f}(@[4])
    {f}(f32[2,3], axis=1)
    {f}(f32[2,3], axis=0, include_initial=True)
    {f}(i32[4], dtype=np.float32, include_initial=True)
    {f}(f32[0], include_initial=True)
    """, dtypes=ALL)
bad(CUMULATIVE, "{f}([1.0])\n{f}(f32[2], axis=1)\n{f}(f32[2], out=f32[2])\n{f}(f32[2], axis='a')\n"
    "{f}(f32[2], dtype='nonsense')\n{f}(f32[2,3], axis=(0, 1))")
bad("cumulative_sum cumulative_prod", "{f}(f32[2,3])\n{f}(f32[])\n{f}([1.0])\n{f}(f32[2], axis=1)\n"
    "{f}(f32[2], 0)")

# Places

add("argmax argmin nanargmax nanargmin", """
    {f}(@[2,3])
    {f}(f32[2,3], axis=1)
    {f}(f32[2,3], axis=-2, keepdims=True)
    {f}(f32[2,3], keepdims=True)
    {f}(TIES)
    {f}(TIES, axis=1)
    {f}(HOLES)
    {f}(HOLES, axis=0)
    {f}(NOTHING, axis=1)
    {f}(f32[])
    {f}(3)
    {f}(f32[0,3], axis=1)
    """, dtypes=ORDERED)
bad("argmax argmin nanargmax nanargmin", """
    {f}(f32[0])
    {f}(f32[2], axis=1)
    {f}([1.0])
    {f}(f32[2], out=i32[])
    {f}(f32[2,3], axis=(0, 1))
    {f}(f32[0,3], axis=0)
    {f}(f32[2], axis=1.5)
    """)
bad("argmax argmin", "{f}(c64[2])")

# Statistics of several variables

add("cov corrcoef", """
    {f}(@[3,5])
    {f}(f32[5])
    {f}(f32[3,5], f32[2,5])
    {f}(f32[3,5], rowvar=False)
    {f}(f32[3,5], dtype=np.float16)
    {f}(i32[3,5])
    {f}(f32[3,1])
    """, dtypes="f32 f16 bf16 c64 f64 i32")
add("cov", """
    {f}(f32[3,5], bias=True)
    {f}(f32[3,5], ddof=2)
    {f}(f32[3,5], fweights=i32[5 in 1 3])
    {f}(f32[3,5], aweights=f32[5 in 0.5 1])
    {f}(f32[3,5], f32[5], fweights=i32[5 in 1 3], aweights=f32[5 in 0.5 1], ddof=0)
    {f}(f32[0,5])
    """, derive="first")
bad("cov corrcoef", "{f}(f32[2,3,4])\n{f}([[1.0, 2.0]])\n{f}(f32[3,5], f32[3,4])\n"
    "{f}(f32[2,3], f32[2,3,4])")
bad("cov", "{f}(f32[3,5], fweights=f32[5])\n{f}(f32[3,5], fweights=i32[4])\n"
    "{f}(f32[3,5], aweights=f32[2,5])\n{f}(f32[3,5], aweights=f32[4])")
add("trapezoid", """
    {f}(@[5])
    {f}(f32[2,5], f32[5])
    {f}(f32[2,5], dx=0.5)
    {f}(f32[2,5], f32[2], axis=0)
    {f}(f32[2,5], f32[2,5], axis=1)
    {f}(i32[5], dx=2)
    {f}(f32[1])
    """, dtypes=ALL, derive="all")
bad("trapezoid", """
    {f}(f32[0])
    {f}([1.0, 2.0])
    {f}(f32[5], f32[4])
    {f}(f32[5], axis=1)
    {f}(f32[])
    """)
