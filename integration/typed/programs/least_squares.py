"""Linear algebra, Fourier transforms and special functions."""

from typing import NamedTuple

import ricci
import ricci.numpy as np
from ricci import Array
from ricci.scipy import linalg, special


class Fit(NamedTuple):
    coefficients: Array
    residual: Array


@ricci.jit
def fit(design: Array, target: Array) -> Fit:
    factor = linalg.cho_factor(design.T @ design)
    coefficients: Array = linalg.cho_solve(factor, design.T @ target)
    return Fit(coefficients, np.linalg.norm(design @ coefficients - target))


def spectrum(signal: Array) -> Array:
    power: Array = abs(np.fft.rfft(signal)) ** 2
    return power


def main() -> None:
    x = np.linspace(0.0, 1.0, 10)
    found = fit(np.stack([np.ones(10), x], axis=1), 2.0 + 3.0 * x)
    assert abs(float(found.coefficients[1]) - 3.0) < 1e-3
    assert spectrum(x).shape == (6,)
    assert float(special.logsumexp(np.zeros(4))) > 1.3
