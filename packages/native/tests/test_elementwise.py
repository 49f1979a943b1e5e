"""Elementwise functions: errors beside wider floats, and the values at the edges of domains."""

import math

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_batching as batching
import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import ElementwiseKernel
from ricci_lax.elementwise import AccuracyMode
from ricci_xla import jit

RANDOM = np.random.default_rng(0)
TINY = np.finfo(np.float32).tiny
CORNERS = np.array(
    [0, -0.0, 1, -1, 0.3, 2, -2, 3, -3, 2.5, -2.5, 8, -27, 1e10, -1e10, 3.4e38, -3.4e38, TINY]
    + [np.inf, -np.inf, np.nan, 16777217, 16777216, -16777215, 1.3 * TINY, -TINY, 1.5 * 2**22]
    + [np.pi / 2, np.pi, 1e22, -1e22, 2.0**47, 2.0**71, 2.0**95, 2.0**119],
    np.float32,
)
SUBNORMAL = np.array([1e-45, -1e-45, 5e-39, -5e-39, 1.17e-38, -1.17e-38], np.float32)


def any_floats(size, dtype=np.float32):
    """Floats of random bits, without subnormal ones."""
    bits = RANDOM.integers(0, 2**64, size, np.uint64).astype(f"u{np.dtype(dtype).itemsize}")
    x = bits.view(dtype)
    return np.where(np.abs(x) < np.finfo(dtype).tiny, dtype(1), x)


def filled(x, size=40000):
    return np.resize(x, size)


# Each function: Ricci's, NumPy's, the bound of its error in units of the last place, and arrays.
UNARY = {
    "sin": (lax.sin, np.sin, 0.51),
    "cos": (lax.cos, np.cos, 0.51),
    "tan": (lax.tan, np.tan, 0.51),
    "cbrt": (lax.cbrt, np.cbrt, 0.8),
    "log": (lax.log, np.log, 0.85),
    "expm1": (lax.expm1, np.expm1, 0.71),
    "floor": (lax.floor, np.floor, 0.01),
    "ceil": (lax.ceil, np.ceil, 0.01),
}
ARRAYS = {
    "small": RANDOM.uniform(-20, 20, 40000).astype(np.float32),
    "near one": RANDOM.uniform(0.5, 2, 5000).astype(np.float32),
    "near zero": RANDOM.uniform(-1e-3, 1e-3, 5000).astype(np.float32),
    "any": any_floats(40000),
    "corners": filled(CORNERS),
    "last block": np.append(np.ones(1024, np.float32), CORNERS),
}


def called(function, *args):
    """The results of a kernel, and those of XLA or of formulas; the first must be a kernel's."""
    results = []
    for enabled in (True, False):
        with ir.native_kernels(enabled):
            lowered = jit(lambda *xs: function(*xs)).lower(*args)
            assert ("ricci_native" in lowered.as_text()) == enabled
            results.append(np.asarray(lowered.compile()(*args)))
    return results


def last_places(result, exact):
    """The greatest error in units of the last place; NaNs must be at the same elements."""
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    info = np.finfo(result.dtype)
    with np.errstate(over="ignore"):
        rounded = np.abs(exact).astype(result.dtype)
    infinite = np.isinf(rounded)
    np.testing.assert_array_equal(result[infinite], np.copysign(np.inf, exact[infinite]))
    normal = (rounded >= info.tiny) & (rounded < info.max)
    unit = np.spacing(rounded[normal])
    return float(np.max(np.abs(result[normal] - exact[normal]) / unit, initial=0))


def assert_same_corners(result, other):
    """Zeros, infinities and NaNs are at the same elements, with the same signs."""
    for where in (lambda x: x == 0, np.isinf, np.isnan):
        np.testing.assert_array_equal(where(result), where(other))
    numbers = ~np.isnan(other)
    np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(other[numbers]))


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("case", UNARY.values(), ids=UNARY)
def test_functions_of_float32_are_nearly_the_rounded_values(case, array):
    function, exact_function, bound = case
    result, other = called(function, array)
    assert result.dtype == np.float32
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        exact = exact_function(array.astype(np.float64))
    assert last_places(result, exact) < bound
    assert_same_corners(result, other)


@pytest.mark.parametrize("name", ["log", "expm1", "floor", "ceil"])
def test_subnormal_numbers_have_the_values_of_the_operation(name):
    result, other = called(UNARY[name][0], filled(SUBNORMAL, 600))
    np.testing.assert_array_equal(result, other)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(other))


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("size", [513, 519, 1031])
@pytest.mark.parametrize("name", [*UNARY, "log of float64"])
def test_results_do_not_depend_on_the_number_of_elements(name, size):
    x = RANDOM.uniform(0.1, 9, 2000)
    function, dtype = (lax.log, x.dtype) if name not in UNARY else (UNARY[name][0], np.float32)
    whole, _ = called(function, x.astype(dtype))
    part, _ = called(function, x[:size].astype(dtype))
    np.testing.assert_array_equal(part, whole[:size])


@ir.composite("unit", lower=ElementwiseKernel("gelu"))
def gaussian_unit(x):
    """x times the normal distribution function of x."""
    number = x.dtype.type
    tail = lax.erfc(lax.mul(lax.neg(x), number(np.sqrt(0.5))))
    return lax.mul(lax.mul(number(0.5), x), tail)


def exact_gaussian_unit(x):
    x = x.astype(np.float64)
    return np.array([0.5 * a * math.erfc(-a * math.sqrt(0.5)) for a in x])


@pytest.mark.parametrize(
    ("low", "high", "bound"),
    [(-13, -5, 10), (-5, -2, 6.6), (-2, -1, 4.3), (-1, 0, 3.4), (0, 1, 2.7), (1, 20, 1.1)],
)
def test_errors_of_gaussian_units(low, high, bound):
    x = RANDOM.uniform(low, high, 40000).astype(np.float32)
    result, _ = called(gaussian_unit, x)
    assert last_places(result, exact_gaussian_unit(x)) < bound


@pytest.mark.parametrize("array", [filled(CORNERS), filled(SUBNORMAL, 600)], ids=["all", "tiny"])
def test_gaussian_units_at_corners_are_those_of_the_composite(array):
    assert_same_corners(*called(gaussian_unit, array))


def test_a_composite_calls_its_kernel_where_it_stands_alone(comparison):
    x = ARRAYS["small"]
    result, _ = called(gaussian_unit, x)
    assert comparison.calls_kernel(batching.vmap(gaussian_unit), x.reshape(4, -1))
    assert not comparison.calls_kernel(lambda x: lax.neg(gaussian_unit(x)), x)
    assert not comparison.calls_kernel(gaussian_unit, x.astype(np.float16))
    np.testing.assert_array_equal(gaussian_unit(x), result)
    slope = ad.grad(lambda x: lax.reduce_sum(gaussian_unit(x), (0,)))
    density = np.exp(-0.5 * x.astype(np.float64) ** 2) / np.sqrt(2 * np.pi)
    expected = x * density + [0.5 * math.erfc(-a * math.sqrt(0.5)) for a in x]
    np.testing.assert_allclose(slope(x), expected, rtol=1e-5, atol=1e-6)


def test_cube_roots_of_subnormal_numbers():
    result, _ = called(lax.cbrt, filled(SUBNORMAL, 600))
    np.testing.assert_allclose(result, np.cbrt(filled(SUBNORMAL, 600).astype(np.float64)), 1e-7)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", ["near 1", "any", "corners"])
def test_logarithms_of_float64(name):
    corners = np.append(CORNERS.astype(np.float64), [5e-324, 2.3e-308, 1.8e308])
    arrays = {"near 1": RANDOM.uniform(0.5, 2, 40000), "any": any_floats(40000, np.float64)}
    array = {**arrays, "corners": filled(corners, 600)}[name]
    result, other = called(lax.log, array)
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = np.log(array.astype(np.longdouble))
    ordinary = np.abs(array) != 5e-324
    assert last_places(result[ordinary], exact[ordinary]) < 0.54
    assert_same_corners(result, other)


def test_powers_are_nearly_the_rounded_values():
    x, y = RANDOM.uniform(0, 9, 40000), RANDOM.uniform(-40, 40, 40000)
    x, y = x.astype(np.float32), y.astype(np.float32)
    result, _ = called(lax.pow, x, y)
    with np.errstate(over="ignore"):
        assert last_places(result, np.power(x.astype(np.float64), y.astype(np.float64))) < 0.51


@pytest.mark.parametrize("numbers", [CORNERS, np.append(CORNERS, SUBNORMAL)], ids=["all", "tiny"])
def test_powers_at_corners_are_those_of_the_formula(numbers):
    x, y = (np.ravel(a) for a in np.meshgrid(numbers, numbers))
    result, other = called(lax.pow, x, y)
    with ir.native_kernels(False):
        formula = jit(lax.pow)(filled(x), filled(y))
    np.testing.assert_array_equal(result, np.asarray(formula)[: x.size])
    assert other.shape == result.shape


@pytest.mark.parametrize("size", [512, 40000])
def test_a_scalar_operand_of_a_power_is_repeated(size):
    x = RANDOM.uniform(0, 9, (2, size // 2)).astype(np.float32)
    exponent, base = np.float32(1.7), np.float32(2.5)
    result, _ = called(lambda x: lax.pow(x, exponent), x)
    np.testing.assert_allclose(result, x.astype(np.float64) ** float(exponent), 2e-7)
    result, _ = called(lambda x: lax.pow(base, x), x)
    np.testing.assert_allclose(result, float(base) ** x.astype(np.float64), 2e-7)


def test_only_a_function_that_stands_alone_is_a_kernel(comparison):
    x = ARRAYS["small"]
    assert comparison.calls_kernel(lax.sin, x)
    assert comparison.calls_kernel(lambda x: jit(lax.sin)(x), x)
    assert not comparison.calls_kernel(lambda x: lax.neg(lax.sin(x)), x)
    assert not comparison.calls_kernel(lambda x: lax.fori_loop(0, 2, lambda i, y: lax.sin(y), x), x)
    assert not comparison.calls_kernel(lambda x: lax.sin(x, accuracy=AccuracyMode.HIGHEST), x)
    assert not comparison.calls_kernel(lax.sin, x[:100])
    assert not comparison.calls_kernel(lax.sin, x.astype(np.float16))
    assert not comparison.calls_kernel(lax.sin, x.astype(np.complex64))


def test_arrays_of_any_order_in_memory():
    x = ARRAYS["small"].reshape(8, 50, 100)
    function = jit(lambda x: lax.sin(x))
    np.testing.assert_array_equal(function(x), np.asarray(function(x.ravel())).reshape(x.shape))
