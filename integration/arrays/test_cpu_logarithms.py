"""Logarithms of large arrays of float64 on CPUs, beside NumPy's in wider floats."""

from typing import Any

import numpy as np
import pytest

import ricci
from ricci import lax

SIZE = 16384  # the least that the formulas are used for
RANDOM = np.random.default_rng(0)
TINY = np.finfo(np.float64).tiny
CORNERS = np.array(
    [0.0, -0.0, TINY, -TINY, 1.0, -1.0, -1 + 2.0**-53, -2.0, 1e300, np.finfo(np.float64).max]
    + [2.0**53, 2.0**54, 2.0**55, np.inf, -np.inf, np.nan, np.sqrt(0.5), np.sqrt(2), 1e-300]
)
LOGARITHMS = {"log": np.log, "log1p": np.log1p, "log2": np.log2}
# log2 is the product of log by a number that is rounded itself.
BOUNDS = {"log": 0.52, "log1p": 0.53, "log2": 1.6}
has_long_doubles = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="no wider floats to compare with"
)


@pytest.fixture(autouse=True)
def _without_kernels():
    """Call the formulas, also where ricci-native is installed."""
    with ricci.native_kernels(False):
        yield


def operands(name: str) -> np.ndarray:
    """Positive floats of all sizes, many near 1; of log1p, more than -1 and many near 0."""
    near = RANDOM.choice([-1, 1], SIZE) * 2.0 ** RANDOM.uniform(-52, -1, SIZE)
    uniform, sizes = RANDOM.uniform(0, 2, SIZE), 2.0 ** RANDOM.uniform(-1020, 1020, SIZE)
    if name == "log1p":
        tail = 2.0 ** RANDOM.uniform(-53, 0, SIZE) - 1
        return np.concatenate([near, uniform - 0.999, sizes, tail])
    return np.concatenate([1 + near, uniform, sizes])


def of_wide_floats(function: Any, x: np.ndarray) -> np.ndarray:
    with ricci.enable_x64(True):
        result = np.asarray(function(x))
    assert result.dtype == np.float64
    return result


@has_long_doubles
@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithm_is_nearly_the_rounded_one(name):
    x = operands(name)
    exact = LOGARITHMS[name](x.astype(np.longdouble))
    result = of_wide_floats(ricci.jit(getattr(lax, name)), x)
    error = np.abs(result - exact) / np.spacing(np.abs(exact).astype(np.float64))
    assert np.max(error) < BOUNDS[name]


@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_of_corners_are_numpy_s(name):
    x = np.resize(CORNERS, SIZE)
    with np.errstate(all="ignore"):
        expected = LOGARITHMS[name](x)
    result = of_wide_floats(getattr(lax, name), x)
    np.testing.assert_allclose(result, expected, rtol=5e-16)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(expected[zeros]))


def test_subnormal_numbers_count_as_zero_except_of_log1p():
    x = np.resize([5e-324, -5e-324, 1e-310, TINY / 2], SIZE)
    np.testing.assert_array_equal(of_wide_floats(lax.log, x), np.full(SIZE, -np.inf))
    np.testing.assert_array_equal(of_wide_floats(lax.log1p, x), x)


@pytest.mark.parametrize("name", LOGARITHMS)
def test_result_is_that_of_every_way_to_call(name):
    function, x = getattr(lax, name), operands(name)
    expected = of_wide_floats(ricci.jit(function), x)
    np.testing.assert_array_equal(of_wide_floats(function, x), expected)
    rows = of_wide_floats(ricci.vmap(function), x.reshape(4, -1))
    np.testing.assert_array_equal(rows.ravel(), expected)


@pytest.mark.parametrize("name", LOGARITHMS)
def test_derivatives_are_those_of_small_arrays(name):
    x = RANDOM.uniform(0.1, 9, SIZE)
    slope = ricci.grad(lambda x: getattr(lax, name)(x).sum())
    large = of_wide_floats(slope, x)
    np.testing.assert_allclose(large[:999], of_wide_floats(slope, x[:999]), rtol=1e-15)


@pytest.mark.parametrize("name", LOGARITHMS)
def test_small_and_complex_arrays_call_the_compiler_s_function(name):
    compiled: Any = ricci.jit(getattr(lax, name))

    def lowered(size: int, dtype: str) -> str:
        with ricci.enable_x64(True):
            return compiled.lower(np.ones(size, dtype)).as_text()

    assert "stablehlo.log" in lowered(SIZE - 1, "float64")
    assert "stablehlo.log" not in lowered(SIZE, "float64")
    assert "stablehlo.log" in lowered(SIZE, "complex128")
