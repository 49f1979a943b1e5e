"""Special functions to some units in the last place, and their derivatives, in either width."""

import numpy as np
import pytest
import scipy.special

import ricci_numpy as jnp
from ricci_autodiff import jvp
from ricci_ir import enable_x64
from ricci_scipy import special
from ricci_scipy.special import _error_coefficients, _integral_coefficients

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

WIDTHS = pytest.mark.parametrize("width", ["float32", "float64"])
_GENERATOR = np.random.default_rng(7)
SIZES = np.concatenate([np.linspace(0.01, 6, 150), 10 ** _GENERATOR.uniform(-6, 4, 150)])
POINTS = SIZES * _GENERATOR.choice([-1, 1], 300)
COMPLEX = 10 ** _GENERATOR.uniform(-4, 1.7, 300) * np.exp(1j * _GENERATOR.uniform(0, np.pi, 300))


def _turning(x):
    """sin(π x²/2) and cos(π x²/2), with the remainder of x² by 4 in twice the digits."""
    head = x.astype(np.float32).astype(np.float64)
    tail = x - head
    turns = np.fmod(head * head, 4) + np.fmod(2 * head * tail, 4) + tail * tail
    return np.sin(np.pi / 2 * turns), np.cos(np.pi / 2 * turns)


def _reference_error(x, slope, width):
    """The error that a rounded square causes in SciPy's float64 results; 0 in float32."""
    return x * slope if width == "float64" else 0 * x


def _places(ours, theirs, condition, width):
    """The largest error in units of the last place, of the result's or the operand's."""
    error = np.abs(np.asarray(ours).astype(theirs.dtype) - theirs)
    eps = np.finfo(width).eps
    return float(np.max(error / (eps * (np.abs(theirs) + np.abs(condition)))))


@WIDTHS
def test_fresnel_integrals_and_slopes_are_right_to_the_last_places(width):
    with enable_x64(width == "float64"):
        x = POINTS.astype(width)
        values, slopes = jvp(special.fresnel, (x,), (np.ones_like(x),))
        wide = x.astype(np.float64)
        expected, slope = scipy.special.fresnel(wide), _turning(wide)
        for i in range(2):
            error = _reference_error(wide, slope[i], width)
            assert _places(values[i], expected[i], error, width) < 3
            assert _places(slopes[i], slope[i], np.pi * wide**2 * slope[1 - i], width) < 2


def _asymptotic_sum(square):
    """The sum of (2k + 1)!! / (2 square)^k."""
    term, total = np.ones_like(square), 0
    for k in range(16):
        total, term = total + term, term * (k + 1.5) / square
    return total


@WIDTHS
def test_erfcx_and_its_slope_are_right_to_the_last_places(width):
    with enable_x64(width == "float64"):
        x = np.where(POINTS < -8, -POINTS, POINTS).astype(width)
        value, slope = jvp(special.erfcx, (x,), (np.ones_like(x),))
        wide = x.astype(np.float64)
        expected = scipy.special.erfcx(wide)
        reference = 2 * wide * expected - 2 / np.sqrt(np.pi)
        assert _places(value, expected, _reference_error(wide, reference, width), width) < 4
        bounded = wide < 30  # beyond it the reference cancels
        error = _reference_error(wide, 2 * wide * expected, width)
        assert _places(slope[bounded], reference[bounded], error[bounded], width) < 5
        far = wide[~bounded]
        series = _asymptotic_sum(-(far**2)) / (-np.sqrt(np.pi) * far**2)
        assert _places(slope[~bounded], series, 0, width) < 8


@WIDTHS
def test_faddeeva_function_and_its_slope_do_not_cancel(width):
    with enable_x64(width == "float64"):
        z = COMPLEX.astype({"float32": "complex64", "float64": "complex128"}[width])
        value, slope = jvp(special.wofz, (z,), (np.ones_like(z),))
        wide = z.astype(np.complex128)
        expected = scipy.special.wofz(wide)
        assert _places(value, expected, 0, width) < (8 if width == "float32" else 150)
        reference = -2 * wide * expected + 2j / np.sqrt(np.pi)
        bounded = np.abs(wide) < (50 if width == "float32" else 2)
        assert _places(slope[bounded], reference[bounded], 0, width) < 250
        far = np.abs(wide) > 12
        square = wide[far] ** 2
        series = -1j / np.sqrt(np.pi) / square * _asymptotic_sum(square)
        assert _places(slope[far], series, 0, width) < 16


def test_large_operands_keep_the_second_term_of_the_asymptotic_series():
    with enable_x64():
        x = np.float64(1.2e6)
        dawson = 0.5 / x * (1 + 0.5 / x**2)
        assert float(special.dawsn(x)) == pytest.approx(dawson, rel=4e-16)
        far = complex(special.wofz(np.complex128(1j * x)))
        assert far.real == pytest.approx(scipy.special.erfcx(x), rel=4e-16)


def test_fresnel_integrals_end_at_a_half():
    x = np.array([np.inf, -np.inf, 3e38, np.nan, 0.0, -0.0], np.float32)
    s, c = special.fresnel(x)
    np.testing.assert_array_equal(s, np.array([0.5, -0.5, 0.5, np.nan, 0, 0], np.float32))
    np.testing.assert_array_equal(c, np.array([0.5, -0.5, 0.5, np.nan, 0, 0], np.float32))


def test_erfcx_reaches_its_limits():
    x = jnp.array([-jnp.inf, -9.5, jnp.inf, jnp.nan, 3e38])
    value, slope = jvp(special.erfcx, (x,), (jnp.ones_like(x),))
    np.testing.assert_array_equal(value[:4], np.array([np.inf, np.inf, 0, np.nan], np.float32))
    np.testing.assert_array_equal(slope[2:], np.array([0, np.nan, 0], np.float32))
    assert float(value[4]) == pytest.approx(scipy.special.erfcx(float(x[4])), rel=1e-6, abs=2e-38)


TABLES = [
    (name, row)
    for module in (_error_coefficients, _integral_coefficients)
    for name, rows in vars(module).items()
    if name.isupper() and len(rows[0]) == 3
    for row in rows
]


@pytest.mark.parametrize(("name", "row"), TABLES)
def test_series_lose_no_digits_as_polynomials(name, row):
    powers = np.polynomial.chebyshev.cheb2poly(row[2])
    assert np.sum(np.abs(powers)) < 4 * np.sum(np.abs(row[2])), name
