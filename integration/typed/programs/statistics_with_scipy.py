"""SciPy's names: distributions, special functions, linear algebra and a minimizer."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array
from ricci.scipy import linalg, optimize, special, stats
from ricci.scipy.signal import convolve


def log_posterior(mean: Array, data: Array) -> Array:
    prior = stats.norm.logpdf(mean, loc=0.0, scale=10.0)
    return prior + stats.norm.logpdf(data, loc=mean).sum()


def gaussian_process(x: Array, y: Array, noise: float) -> Array:
    kernel = jnp.exp(-((x[:, None] - x[None, :]) ** 2)) + noise * jnp.eye(x.size)
    factor, lower = linalg.cho_factor(kernel)
    weights = linalg.cho_solve((factor, lower), y)
    return -0.5 * y @ weights - jnp.log(jnp.diag(factor)).sum()


def rosenbrock(x: Array) -> Array:
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def main() -> None:
    data = jnp.array([1.0, 2.0, 3.0])
    slope = ricci.grad(log_posterior)(jnp.asarray(2.0), data)
    assert_type(log_posterior(jnp.asarray(0.0), data), Array)
    assert abs(float(slope)) < 0.1
    assert gaussian_process(data, jnp.sin(data), 0.1).shape == ()
    result = optimize.minimize(rosenbrock, jnp.zeros(2), method="BFGS")
    assert_type(result.x, Array)
    assert float(abs(result.x - 1).max()) < 0.05
    assert abs(float(special.gammaln(5.0)) - 3.178) < 0.001
    assert special.logsumexp(data, axis=0).shape == ()
    assert convolve(data, jnp.ones(2), mode="full").tolist() == [1.0, 3.0, 5.0, 3.0]
