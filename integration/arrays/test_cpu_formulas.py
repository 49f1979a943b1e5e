"""Roots, powers, logarithms and others of large arrays on CPUs, beside NumPy's in wider floats.

The arrays are large enough for the formulas of `ricci_lax.cpu_formulas`.
"""

import math
from typing import Any

import numpy as np
import pytest

import ricci
from ricci import lax

SIZE = 16384  # the least that the formulas are used for
RANDOM = np.random.default_rng(0)
TINY = np.finfo(np.float32).tiny
CORNERS = np.array(
    [0, -0.0, 1, -1, 0.3, 2, -2, 3, -3, 2.5, -2.5, 8, -27, 1e10, -1e10, 3.4e38, -3.4e38, TINY]
    + [np.inf, -np.inf, np.nan, 16777217, 16777216, -16777215, 1.3 * TINY, -TINY],
    np.float32,
)
SUBNORMAL = np.array([1e-45, -1e-45, 5e-39, -5e-39, 1.17e-38, -1.17e-38], np.float32)


@pytest.fixture(autouse=True)
def _without_kernels():
    """Call the formulas, also where ricci-native is installed."""
    with ricci.native_kernels(False):
        yield


def filled(x: np.ndarray) -> np.ndarray:
    """The elements, repeated until they are enough for the formulas."""
    return x if x.size >= SIZE else np.resize(x, SIZE)


def pairs(*numbers: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(filled(np.ravel(x)) for x in np.meshgrid(*numbers))


def any_floats(size: int = 4 * SIZE) -> np.ndarray:
    """Floats of random bits, without subnormal ones."""
    x = RANDOM.integers(0, 2**32, size, dtype=np.uint32).view(np.float32)
    return np.where(np.abs(x) < TINY, np.float32(1), x)


def last_places(result: np.ndarray, exact: np.ndarray) -> float:
    """The greatest error in units of the last place; NaNs must be at the same elements."""
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    dtype = np.finfo(result.dtype)
    with np.errstate(over="ignore"):
        rounded = np.abs(exact).astype(result.dtype)
    normal = (rounded >= dtype.tiny) & (rounded < dtype.max)
    infinite = np.isinf(rounded)
    np.testing.assert_array_equal(result[infinite], np.copysign(np.inf, exact[infinite]))
    error = np.abs(result[normal] - exact[normal]) / np.spacing(rounded[normal])
    return float(np.max(error, initial=0))


def assert_same_bits(result: np.ndarray, expected: np.ndarray) -> None:
    """Assert that floats are equal with the signs of zeros; all NaNs count as equal."""
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(result), ~numbers)
    bits = f"i{result.dtype.itemsize}"
    np.testing.assert_array_equal(result[numbers].view(bits), expected[numbers].view(bits))


# Cube roots


def test_cbrt_is_nearly_the_rounded_root():
    x = np.concatenate([any_floats(), np.arange(-40, 40, dtype=np.float32) ** 3, SUBNORMAL])
    with np.errstate(invalid="ignore"):
        exact = np.cbrt(x.astype(np.float64))
    result = np.asarray(ricci.jit(lax.cbrt)(x))
    assert result.dtype == np.float32
    # Where products and sums are fused, 0.75; XLA's own root is up to 0.97 off.
    assert last_places(result, exact) < 0.9


def test_cbrt_of_the_largest_numbers_is_finite():
    x = filled(np.float32(np.finfo(np.float32).max) * np.linspace(0.99, 1, 999, dtype=np.float32))
    np.testing.assert_allclose(np.asarray(lax.cbrt(x)), np.cbrt(x.astype(np.float64)), 1e-7)


def test_cbrt_of_corners_is_numpy_s():
    x = filled(CORNERS)
    result = np.asarray(lax.cbrt(x))
    np.testing.assert_array_max_ulp(result[~np.isnan(x)], np.cbrt(x)[~np.isnan(x)], 1)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(x))
    np.testing.assert_array_equal(np.signbit(result[x == 0]), np.signbit(x[x == 0]))


# Remainders


def with_short_quotients() -> tuple[np.ndarray, np.ndarray]:
    """Dividends and divisors whose quotients are below 2²⁸."""
    y = 2.0 ** RANDOM.uniform(-100, 90, 4 * SIZE) * RANDOM.choice([1, -1], 4 * SIZE)
    scale = RANDOM.choice([1, 2.0**-20, 2.0**-28], y.size)
    x = y * scale * RANDOM.integers(0, 2**28, y.size)
    return x.astype(np.float32), y.astype(np.float32)


DIVIDENDS = {
    "short quotients": with_short_quotients(),
    "corners with short quotients": pairs(
        np.concatenate([CORNERS[np.abs(CORNERS) < 1e9], SUBNORMAL]),
        CORNERS[(np.abs(CORNERS) > 0.1) & (np.abs(CORNERS) < 1e9)],
    ),
    "infinite divisors": pairs(CORNERS[np.abs(CORNERS) < 1e9], CORNERS[~np.isfinite(CORNERS)]),
    "infinite dividends": pairs(CORNERS[~np.isfinite(CORNERS)], np.array([1, 2, 3e38], np.float32)),
    "corners": pairs(CORNERS, CORNERS),
    "any floats": (any_floats(), any_floats()),
}


@pytest.mark.parametrize("name", DIVIDENDS)
def test_remainder_is_exact(name):
    x, y = DIVIDENDS[name]
    with np.errstate(invalid="ignore"):
        expected = np.fmod(x, y)
    assert_same_bits(np.asarray(ricci.jit(lax.rem)(x, y)), expected)


def test_remainder_by_a_subnormal_number_computes_all_elements_generally():
    x, y = pairs(np.array([1.5, -2.5, 0.75], np.float32), np.array([0.5, 1], np.float32))
    y[0] = 1e-39
    result = np.asarray(ricci.jit(lax.rem)(x, y))
    assert_same_bits(result[1:], np.fmod(x, y)[1:])


def test_remainders_of_integers_and_wide_floats_are_the_compiler_s():
    for dtype in ("int32", "float64"):
        with ricci.enable_x64(True):
            x = np.arange(-SIZE, SIZE).astype(dtype)
            np.testing.assert_array_equal(lax.rem(x, np.full_like(x, 7)), np.fmod(x, 7))


# Powers


def exact_powers(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.power(x.astype(np.float64), y.astype(np.float64))


def as_small_as_any(x: np.ndarray) -> np.ndarray:
    """Exponents whose powers of x take all values of float32."""
    with np.errstate(all="ignore"):
        return (RANDOM.uniform(-126, 128, x.size) / np.log2(np.abs(x))).astype(np.float32)


def uniform(low: float, high: float) -> np.ndarray:
    return RANDOM.uniform(low, high, SIZE).astype(np.float32)


BASES = np.abs(any_floats())
POWERS = {
    "all powers": (BASES, as_small_as_any(BASES)),
    "near 1": (uniform(0.99, 1.01), uniform(-9000, 9000)),
    "ordinary": (uniform(0.1, 3), uniform(-3, 3)),
    "negative bases": (uniform(-9, 0), np.round(uniform(-30, 30))),
    "subnormal bases": (filled(np.abs(SUBNORMAL)), uniform(-0.8, 0.8)),
}


@pytest.mark.parametrize("name", POWERS)
def test_power_is_nearly_the_rounded_one(name):
    x, y = POWERS[name]
    assert last_places(np.asarray(ricci.jit(lax.pow)(x, y)), exact_powers(x, y)) < 0.51


def test_powers_of_corners_are_c_s():
    numbers = np.concatenate([CORNERS, SUBNORMAL])
    x, y = pairs(numbers, numbers)
    with np.errstate(all="ignore"):
        expected = exact_powers(x, y).astype(np.float32)
    result = np.asarray(ricci.jit(lax.pow)(x, y))
    # XLA's CPUs round subnormal results to 0.
    normal = ~(np.abs(expected) < 2 * TINY)
    corner = normal & ~((np.abs(expected) < np.inf) & (np.abs(expected) != 1))
    assert_same_bits(result[corner], expected[corner])
    assert last_places(result[normal], exact_powers(x, y)[normal]) < 0.51
    np.testing.assert_array_equal(
        np.signbit(result[expected == 0]), np.signbit(expected[expected == 0])
    )


def test_powers_with_exponents_of_integers():
    x, y = uniform(-3, 3), RANDOM.integers(-9, 9, SIZE)
    assert last_places(np.asarray(lax.pow(x, y.astype(np.int32))), exact_powers(x, y)) < 0.51


# The complementary error function

exact_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@pytest.mark.parametrize(
    ("low", "high", "bound"), [(-9, 0, 1.3), (-0.01, 0.01, 1), (0, 3, 7), (3, 9.19, 5)]
)
def test_erfc_is_nearly_the_rounded_one(low, high, bound):
    x = uniform(low, high)
    assert last_places(np.asarray(ricci.jit(lax.erfc)(x)), exact_erfc(x)) < bound


def test_erfc_of_corners_is_c_s_or_0_where_that_is_subnormal():
    x = filled(np.concatenate([CORNERS, SUBNORMAL, np.array([9.19, 9.2, 9.3, -9.3], np.float32)]))
    expected = exact_erfc(x)
    expected[expected < TINY] = 0
    result = np.asarray(lax.erfc(x))
    np.testing.assert_array_equal(result == 0, expected == 0)
    np.testing.assert_allclose(result, expected, 1e-6)
    np.testing.assert_array_equal(result[np.abs(x) < 1e-9], np.float32(1))


# exp(x) - 1 and log(1 + x)

NEAR_ZERO = (RANDOM.choice([-1, 1], SIZE) * 2.0 ** RANDOM.uniform(-60, 0, SIZE)).astype(np.float32)
INTERVALS = [uniform(-0.99, 0.45), uniform(0.3, 9), NEAR_ZERO]
SHIFTED = {
    "expm1": (np.expm1, 0.72, [*INTERVALS, uniform(-20, 88.7)]),
    "log1p": (np.log1p, 1.4, [*INTERVALS, np.abs(any_floats()), np.abs(NEAR_ZERO) - 1]),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_shifted_functions_are_nearly_the_rounded_ones(name):
    function, bound, intervals = SHIFTED[name]
    x = np.concatenate(intervals)
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64))
    compiled: Any = ricci.jit(getattr(lax, name))
    assert last_places(np.asarray(compiled(x)), exact) < bound


@pytest.mark.parametrize("name", SHIFTED)
def test_shifted_functions_of_corners_are_numpy_s(name):
    function, _, _ = SHIFTED[name]
    x = filled(
        np.concatenate([CORNERS, SUBNORMAL, np.array([88.72, 88.73, -17.4, -1 + 2**-24], "f")])
    )
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64)).astype(np.float32)
    result = np.asarray(getattr(lax, name)(x))
    np.testing.assert_array_equal(np.signbit(result[x == 0]), np.signbit(x[x == 0]))
    np.testing.assert_allclose(result, expected, 2e-7)


# All of them

FUNCTIONS = {
    "cbrt": (lax.cbrt, [any_floats()]),
    "erfc": (lax.erfc, [uniform(-9, 9)]),
    "expm1": (lax.expm1, [uniform(-9, 9)]),
    "log1p": (lax.log1p, [uniform(0, 9)]),
    "pow": (lax.pow, list(POWERS["all powers"])),
    "rem": (lax.rem, list(with_short_quotients())),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_result_is_that_of_every_way_to_call(name):
    function, operands = FUNCTIONS[name]
    expected = np.asarray(ricci.jit(function)(*operands))
    rows = [x.reshape(4, -1) for x in operands]
    assert_same_bits(np.asarray(function(*operands)), expected)
    assert_same_bits(np.asarray(ricci.vmap(function)(*rows)).ravel(), expected)
    with ricci.enable_x64(True):
        assert_same_bits(np.asarray(function(*operands)), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_narrow_floats_are_rounded_once(name, dtype):
    function, operands = FUNCTIONS[name]
    narrow = [lax.convert_element_type(np.clip(x, -99, 99), dtype) for x in operands]
    wide = function(*(lax.convert_element_type(x, "float32") for x in narrow))
    result = function(*narrow)
    assert result.dtype == dtype
    as_float32 = lambda x: np.asarray(lax.convert_element_type(x, "float32"))
    assert_same_bits(as_float32(result), as_float32(lax.convert_element_type(wide, dtype)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_small_arrays(name):
    function, operands = FUNCTIONS[name]
    operands = [np.clip(np.nan_to_num(x), 0.3, 30)[:SIZE] for x in operands]
    slopes = ricci.grad(lambda *xs: function(*xs).sum(), tuple(range(len(operands))))
    small = [x[: SIZE // 2] for x in operands]
    for large, expected in zip(slopes(*operands), slopes(*small), strict=True):
        np.testing.assert_allclose(large[: SIZE // 2], expected, rtol=1e-6)


OPERATIONS = {
    "cbrt": "stablehlo.cbrt",
    "erfc": "chlo.erfc",
    "expm1": "stablehlo.exponential_minus_one",
    "log1p": "stablehlo.log_plus_one",
    "pow": "stablehlo.power",
    "rem": "stablehlo.remainder",
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_small_arrays_are_the_compiler_s(name):
    function, operands = FUNCTIONS[name]
    compiled: Any = ricci.jit(function)
    lowered = compiled.lower(*(x[: SIZE - 1] for x in operands)).as_text()
    assert OPERATIONS[name] in lowered
    assert "f64" not in lowered


@pytest.mark.parametrize(("size", "branches"), [(SIZE, 1), (2**22, 1), (2**22 + 1, 0)])
def test_sines_of_very_large_arrays_have_no_branch(size, branches):
    """A branch would keep its operand and its result in memory."""
    x = ricci.ShapeDtypeStruct((size,), np.float32)
    assert ricci.jit(lax.sin).lower(x).as_text().count("stablehlo.if") == branches
