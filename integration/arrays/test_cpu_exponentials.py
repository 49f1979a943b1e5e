"""Exponentials of large arrays of float64 on CPUs, beside NumPy's in wider floats."""

from typing import Any

import numpy as np
import pytest

import ricci
from ricci import lax, nn
from ricci import numpy as jnp

SIZE = 16384  # the least that the formulas are used for
RANDOM = np.random.default_rng(0)
TINY = np.finfo(np.float64).tiny
GREATEST, LEAST = 709.782712893384, -708.3964185322641
CORNERS = np.array(
    [0.0, -0.0, 1, -1, GREATEST, np.nextafter(GREATEST, 800), LEAST, np.nextafter(LEAST, -800)]
    + [-745.0, 1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-300, TINY, -TINY]
)


@pytest.fixture(autouse=True)
def _without_kernels():
    """Call the formulas, also where ricci-native is installed."""
    with ricci.native_kernels(False):
        yield


def of_wide_floats(function: Any, *xs: np.ndarray) -> np.ndarray:
    with ricci.enable_x64(True):
        result = np.asarray(function(*xs))
    assert result.dtype == np.float64
    return result


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no wider floats to compare with")
def test_exponential_is_within_a_unit_of_the_exact_one():
    near = RANDOM.choice([-1, 1], SIZE) * 2.0 ** RANDOM.uniform(-60, 3, SIZE)
    halves = (RANDOM.integers(-1000, 1000, SIZE) + 0.5) * np.log(2)  # where the reduction rounds
    x = np.concatenate([near, RANDOM.uniform(LEAST, GREATEST, 4 * SIZE), halves])
    exact = np.exp(x.astype(np.longdouble))
    result = of_wide_floats(ricci.jit(lax.exp), x)
    error = np.abs(result - exact) / np.spacing(exact.astype(np.float64))
    # Where products and sums are fused, 0.92; XLA's own is up to 1.7 off.
    assert np.max(error) < 1.2


def test_exponentials_of_corners_are_numpy_s_or_0_where_those_are_subnormal():
    x = np.resize(CORNERS, SIZE)
    with np.errstate(all="ignore"):
        expected = np.exp(x)
    expected[expected < TINY] = 0
    result = of_wide_floats(lax.exp, x)
    np.testing.assert_allclose(result, expected, rtol=3e-16)
    np.testing.assert_array_equal(result[np.abs(x) < 1e-290], 1.0)


def test_result_is_that_of_every_way_to_call():
    x = RANDOM.uniform(-9, 9, SIZE)
    expected = of_wide_floats(ricci.jit(lax.exp), x)
    np.testing.assert_array_equal(of_wide_floats(lax.exp, x), expected)
    rows = of_wide_floats(ricci.vmap(lax.exp), x.reshape(4, -1))
    np.testing.assert_array_equal(rows.ravel(), expected)
    scanned = of_wide_floats(lambda x: lax.map(lax.exp, x), np.stack([x, x]))
    np.testing.assert_array_equal(scanned, [expected, expected])
    np.testing.assert_array_equal(
        of_wide_floats(ricci.grad(lambda x: lax.exp(x).sum()), x), expected
    )


def test_softmax_of_large_arrays_sums_to_one():
    x = RANDOM.normal(size=(64, 512)) * 30
    rows = of_wide_floats(nn.softmax, x)
    shifted = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(
        rows, shifted / shifted.sum(1, keepdims=True), rtol=1e-13, atol=1e-300
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128"])
def test_other_dtypes_call_the_compiler_s_function(dtype):
    with ricci.enable_x64(True):
        x = jnp.ones(SIZE, dtype)
        assert "stablehlo.exponential" in ricci.jit(lax.exp).lower(x).as_text()
        assert "stablehlo.exponential" not in ricci.jit(lax.exp).lower(np.ones(SIZE)).as_text()
