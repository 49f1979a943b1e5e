"""The incomplete gamma functions of large orders, compared with integrals in float64."""

import numpy as np
import pytest
import scipy.special

from ricci import enable_x64, grad, lax, vmap

DEVIATIONS = np.array([-3.0, -1.0, -0.01, 0.0, 0.5, 2.0, 3.0])
TOLERANCE = {"float32": 4e-6, "float64": 1e-11}


def _points(a, dtype):
    x = np.clip(a + DEVIATIONS * np.sqrt(a), 0.901 * a, 1.099 * a).astype(dtype)
    return np.full(len(x), a, dtype), x


def _stirling_remainder(a):
    return 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5) - 1 / (1680 * a**7)


def _integrals(a, x):
    """Integrate the derivative of the density by a, which is the density times log t - digamma(a).

    With t = a (1 + u), neither factor is a difference of large numbers. Also return the density.
    """
    scale = np.exp(-_stirling_remainder(a)) * np.sqrt(a / (2 * np.pi))
    correction = 1 / (2 * a) + 1 / (12 * a**2) - 1 / (120 * a**4)  # log a - digamma(a)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    start, end = -14 / np.sqrt(a), (x - a) / a
    u = start + (end - start) * (nodes[:, None] + 1) / 2
    terms = np.exp(-a * (u - np.log1p(u))) / (1 + u) * (np.log1p(u) + correction)
    slope = scale * (weights @ terms) * (end - start) / 2
    return slope, scale * np.exp(-a * (end - np.log1p(end))) / x


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("order", [2e3, 1e6])
def test_derivatives_by_large_orders_lose_no_digits_to_logarithms(order, dtype):
    with enable_x64(dtype == "float64"):
        a, x = _points(order, dtype)
        slope, density = _integrals(a.astype(np.float64), x.astype(np.float64))
        rtol = TOLERANCE[dtype]
        np.testing.assert_allclose(lax.igamma_grad_a(a, x), slope, rtol=rtol)
        np.testing.assert_allclose(vmap(grad(lax.igammac))(a, x), -slope, rtol=rtol)
        np.testing.assert_allclose(lax.random_gamma_grad(a, x), -slope / density, rtol=rtol)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("order", [12.0, 150.0, 2e3, 1e6])
def test_densities_of_large_orders_lose_no_digits_to_logarithms(order, dtype):
    with enable_x64(dtype == "float64"):
        a, x = _points(order, dtype)
        wide, points = a.astype(np.float64), x.astype(np.float64)
        u = (points - wide) / wide
        exponent = wide * (np.log1p(u) - u) - _stirling_remainder(wide)
        density = np.exp(exponent) * np.sqrt(wide / (2 * np.pi)) / points
        by_x = (wide - 1 - points) / points * density
        slope = grad(lax.igamma, 1)
        np.testing.assert_allclose(vmap(slope)(a, x), density, rtol=TOLERANCE[dtype])
        np.testing.assert_allclose(
            vmap(grad(slope, 1))(a, x), by_x, rtol=0, atol=TOLERANCE[dtype] * abs(by_x).max()
        )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("order", [12.0, 150.0])
def test_values_below_the_expansions_orders_lose_no_digits_to_logarithms(order, dtype):
    with enable_x64(dtype == "float64"):
        a, x = _points(order, dtype)
        lower = scipy.special.gammainc(a.astype(np.float64), x.astype(np.float64))
        # A unit of the last place of x is worth a few of the value.
        np.testing.assert_allclose(lax.igamma(a, x), lower, rtol=TOLERANCE[dtype])
        np.testing.assert_allclose(lax.igammac(a, x), 1 - lower, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("order", [1e3, 2e4])
def test_values_in_float64_lose_no_digits_to_logarithms(order):
    with enable_x64(True):
        a, x = _points(order, "float64")
        lower, upper = scipy.special.gammainc(a, x), scipy.special.gammaincc(a, x)
        np.testing.assert_allclose(lax.igamma(a, x), lower, rtol=1e-13)
        np.testing.assert_allclose(lax.igammac(a, x), upper, rtol=1e-13)
