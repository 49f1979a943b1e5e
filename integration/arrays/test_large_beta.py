"""The incomplete beta function of large parameters, compared with SciPy in float64."""

import numpy as np
import pytest
import scipy.special

from ricci import grad, lax, vmap

PARAMETERS = [(1e4, 1e4), (2e4, 3e3), (1e5, 50.0), (300.0, 12.0), (1e5, 20.0), (15.0, 15.0)]
PARAMETERS += [(2.0, 1e7), (0.5, 1e5), (5.0, 1e9), (0.5, 1e9), (0.01, 1e7)]


def _operands(a, b):
    deviations = np.linspace(-2, 2, 9)
    x = a / (a + b) + deviations * np.sqrt(a * b / (a + b + 1)) / (a + b)
    x = np.maximum(x, a / (a + b) / 10)
    return np.full(9, a, np.float32), np.full(9, b, np.float32), x.astype(np.float32)


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_large_parameters_lose_no_digits_to_logarithms(a, b):
    operands = _operands(a, b)
    wide = [x.astype(np.float64) for x in operands]
    expected = scipy.special.betainc(*wide)
    units = [np.spacing(x).astype(np.float64) * (i == 2) for i, x in enumerate(operands)]
    moved = scipy.special.betainc(*(x + unit for x, unit in zip(wide, units, strict=True)))
    error = np.abs(np.asarray(lax.betainc(*operands)) - expected)
    assert np.all(error < 3e-6 * expected + 4 * np.abs(moved - expected))


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_densities_of_large_parameters_lose_no_digits_to_logarithms(a, b):
    operands = _operands(a, b)
    slopes = vmap(grad(lax.betainc, 2))(*operands)
    a, b, x = (x.astype(np.float64) for x in operands)
    log = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - scipy.special.betaln(a, b)
    np.testing.assert_allclose(slopes, np.exp(log), rtol=4e-5)
