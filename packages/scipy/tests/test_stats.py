"""Distributions and statistics: recorded values of SciPy, laws, documentation, invalid arguments.

``data/stats.json`` holds what SciPy computes in float64; a row is points, parameters and results.
"""

import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ricci_numpy as jnp
import ricci_random as random
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct
from ricci_scipy import stats
from ricci_xla import jit

RECORDED = json.loads((Path(__file__).parent / "data" / "stats.json").read_text())
DISTRIBUTIONS = {
    n: m for n, m in vars(stats).items() if n in stats.__all__ and isinstance(m, ModuleType)
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", RECORDED)
def test_values_are_those_of_scipy(name):
    (points,), parameters, expected = RECORDED[name]
    distribution, function = name.split(".")
    x = np.array([float(v) for v in points], np.float32)
    found = getattr(DISTRIBUTIONS[distribution], function)(x, *parameters)
    assert found.dtype == np.float32
    expected = np.array([float(v) for v in expected])
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("norm", (0.3, 0.1, 2.0)),
        ("gamma", (1.5, 2.5)),
        ("beta", (0.4, 2.0, 3.0)),
        ("truncnorm", (0.3, -1.0, 2.0)),
        ("uniform", (0.5, 0.0, 2.0)),
    ],
)
def test_the_distribution_function_has_the_density_as_slope(name, arguments):
    distribution = DISTRIBUTIONS[name]
    slope = grad(distribution.cdf)(*arguments)
    assert float(slope) == pytest.approx(float(distribution.pdf(*arguments)), rel=1e-4)


INVERTIBLE = [n for n, m in DISTRIBUTIONS.items() if {"ppf", "pdf"} <= set(m.__all__)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", INVERTIBLE)
def test_quantiles_have_the_reciprocal_density_as_slope(name):
    distribution = DISTRIBUTIONS[name]
    shapes = {"pareto": (2.0,)}.get(name, ())
    slope, x = grad(distribution.ppf)(0.3, *shapes), distribution.ppf(0.3, *shapes)
    assert float(slope * distribution.pdf(x, *shapes)) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("name", ["expon", "pareto", "beta", "uniform", "truncnorm"])
def test_gradients_outside_the_support_are_zero(name):
    shapes = {"pareto": (2.0,), "beta": (2.0, 3.0), "truncnorm": (-1.0, 2.0)}.get(name, ())
    assert float(grad(DISTRIBUTIONS[name].logpdf)(-3.0, *shapes)) == 0.0


@pytest.mark.parametrize("name", ["norm", "cauchy", "logistic", "gumbel_r"])
def test_quantiles_invert_the_distribution_function(name):
    q = jnp.array([0.1, 0.5, 0.9])
    distribution = DISTRIBUTIONS[name]
    found = jit(lambda q: distribution.cdf(distribution.ppf(q, 1.0, 2.0), 1.0, 2.0))(q)
    np.testing.assert_allclose(found, q, rtol=1e-5)


def test_vmap_over_parameters():
    scales = jnp.array([0.5, 2.0])
    found = vmap(lambda s: stats.norm.logpdf(1.0, scale=s))(scales)
    np.testing.assert_allclose(found, stats.norm.logpdf(1.0, 0.0, scales), rtol=1e-6)


def test_distributions_are_modules():
    module = importlib.import_module("ricci_scipy.stats.norm")
    assert module is stats.norm
    assert module.logpdf.__module__ == "ricci_scipy.stats.norm"


def test_multivariate_normal_of_independent_coordinates():
    x = np.float32([[0.5, -1.0], [0.0, 2.0]])
    found = stats.multivariate_normal.logpdf(x, np.zeros(2, "f4"), np.diag([1.0, 4.0]).astype("f4"))
    expected = stats.norm.logpdf(x, 0.0, np.float32([1.0, 2.0])).sum(-1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_dirichlet_in_two_dimensions_is_beta():
    x = np.float32([0.2, 0.7])
    found = stats.dirichlet.logpdf(np.stack([x, 1 - x]), np.float32([2.0, 3.0]))
    np.testing.assert_allclose(found, stats.beta.logpdf(x, 2.0, 3.0), rtol=1e-5)


def test_poisson_entropy_joins_its_two_formulas():
    low, high = stats.poisson.entropy(np.float32([24.999, 25.001]))
    assert float(low) == pytest.approx(float(high), abs=1e-3)


RANKS = {
    "average": [3.5, 1.0, 3.5, 2.0],
    "min": [3, 1, 3, 2],
    "max": [4, 1, 4, 2],
    "dense": [3, 1, 3, 2],
    "ordinal": [3, 1, 4, 2],
}


@pytest.mark.parametrize("method", RANKS)
def test_ranks(method):
    a = np.array([20, 10, 20, 15])
    np.testing.assert_array_equal(stats.rankdata(a, method), RANKS[method])
    both = stats.rankdata(np.stack([a, a]), method, axis=1)
    np.testing.assert_array_equal(both, [RANKS[method]] * 2)


@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (0, 2)])
def test_ranks_without_an_axis_are_a_vector(shape):
    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(stats.rankdata(a), np.arange(1, a.size + 1))


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_mode_of_an_empty_array(shape):
    values, counts = stats.mode(np.zeros(shape, np.float32))
    assert values.shape == counts.shape == shape[1:]
    assert np.isnan(values).all() and not counts.any()


QUANTILES = {"expon": lambda q: -np.log1p(-q), "uniform": lambda q: q,
             "cauchy": lambda q: np.tan(np.pi * (q - 0.5))}  # fmt: skip


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_of_complex_numbers(name):
    q = np.complex64([0.3 + 0.2j, 0.5 - 1j])
    np.testing.assert_allclose(getattr(stats, name).ppf(q), QUANTILES[name](q), rtol=1e-5)


def test_the_mode_takes_memory_in_proportion_to_the_elements():
    def temporary(size):
        compiled = jit(stats.mode).lower(ShapeDtypeStruct((size,), np.float32)).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporary(100_000) < 20 * temporary(10_000)


def test_mode_and_standard_error_along_axes():
    a = np.float32([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]])
    values, counts = stats.mode(a)
    np.testing.assert_array_equal(values, [1.0, 3.0])
    np.testing.assert_array_equal(counts, [2, 2])
    assert stats.mode(a, axis=None, keepdims=True).mode.shape == (1, 1)
    np.testing.assert_allclose(stats.sem(a), np.std(a, 0, ddof=1) / np.sqrt(3), rtol=1e-6)


class TestKernelDensity:
    data = np.float32([[-1.0, 0.0, 1.0, 2.5], [0.5, -0.2, 0.3, 1.0]])

    def test_integrates_to_one(self):
        kde = stats.gaussian_kde(self.data[0])
        x = np.linspace(-15, 15, 2001, dtype=np.float32)
        assert float(kde(x).sum()) * 0.015 == pytest.approx(1.0, abs=1e-3)
        assert float(kde.integrate_box_1d(-15.0, 15.0)) == pytest.approx(1.0, abs=1e-5)

    def test_is_a_mixture_of_normal_densities(self):
        kde = stats.gaussian_kde(self.data, 0.7)
        point = np.float32([[0.2], [0.1]])
        parts = [stats.multivariate_normal.pdf(point[:, 0], c, kde.covariance) for c in self.data.T]
        assert float(kde(point)[0]) == pytest.approx(float(sum(parts)) / 4, rel=1e-4)

    def test_products(self):
        kde = stats.gaussian_kde(self.data)
        alone = kde.integrate_gaussian(self.data[:, 0], kde.covariance)
        assert 0 < float(alone) < 1
        assert float(kde.integrate_kde(kde)) > 0

    def test_samples_have_the_shape_asked_for(self):
        kde = stats.gaussian_kde(self.data, weights=np.float32([1, 2, 1, 1]))
        assert kde.resample(random.key(0), (5,)).shape == (2, 5)

    def test_is_a_pytree(self):
        kde = stats.gaussian_kde(self.data)
        np.testing.assert_allclose(
            jit(lambda k, x: k(x))(kde, self.data), kde(self.data), rtol=1e-5
        )


REFUSED = [
    (lambda: stats.rankdata(np.ones(2), "best"), ValueError, "best"),
    (lambda: stats.mode(np.ones(2), nan_policy="omit"), NotImplementedError, "omit"),
    (lambda: stats.sem(np.ones(2), nan_policy="x"), ValueError, "'x'"),
    (lambda: stats.mode([1, 2]), TypeError, "asarray"),
    (lambda: stats.gaussian_kde(np.ones(1)), ValueError, "more than one"),
    (lambda: stats.gaussian_kde(np.ones(3), "wide"), ValueError, "wide"),
    (lambda: stats.gaussian_kde(np.ones(3), weights=np.ones(2)), ValueError, "weights"),
    (lambda: stats.dirichlet.pdf(np.ones(4), np.ones(2)), ValueError, "alpha"),
    (
        lambda: stats.multivariate_normal.logpdf(np.ones(2), np.ones(2), np.ones((3, 3))),
        ValueError,
        "cov must be",
    ),
    (lambda: stats.norm.cdf(np.complex64(1)), ValueError, "real numbers"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()


COMPLEX_DENSITIES = {
    "norm": lambda z: np.exp(-z * z / 2) / np.sqrt(2 * np.pi),
    "cauchy": lambda z: 1 / (np.pi * (1 + z * z)),
    "logistic": lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2,
}


@pytest.mark.parametrize("name", COMPLEX_DENSITIES)
def test_densities_of_complex_numbers(name):
    distribution = DISTRIBUTIONS[name]
    z = np.array([0.5 + 1j, 0.25 - 0.5j, -3 + 0.5j, 2 - 0.3j], np.complex64)
    density = COMPLEX_DENSITIES[name](z)
    np.testing.assert_allclose(distribution.pdf(z), density, rtol=1e-5)
    np.testing.assert_allclose(np.exp(distribution.logpdf(z)), density, rtol=1e-5)
    if name != "norm":
        slopes = [grad(distribution.cdf, holomorphic=True)(x) for x in z]
        np.testing.assert_allclose(slopes, density, rtol=1e-4)
        np.testing.assert_allclose(distribution.sf(z), 1 - distribution.cdf(z), rtol=1e-4)


FAR_OUT = [
    (lambda: stats.cauchy.logsf(np.float32(3e38)), -np.log(np.pi) - np.log(3e38)),
    (lambda: stats.cauchy.logcdf(np.float32(-3e38)), -np.log(np.pi) - np.log(3e38)),
    (lambda: stats.cauchy.logsf(np.float32(2.0)), np.log(0.5 - np.arctan(2.0) / np.pi)),
    (lambda: stats.cauchy.logcdf(np.float32(1e6)), np.log1p(-np.arctan(1e-6) / np.pi)),
    (lambda: stats.cauchy.ppf(np.float32(2e-38)), -1 / (np.pi * 2e-38)),
    (lambda: stats.cauchy.isf(np.float32(2e-38)), 1 / (np.pi * 2e-38)),
    (lambda: stats.cauchy.ppf(np.float32(1 - 2.0**-24)), 2.0**24 / np.pi),
    (lambda: stats.cauchy.isf(np.float32(1 - 2.0**-24)), -(2.0**24) / np.pi),
    (lambda: stats.cauchy.ppf(np.float32(0.7)), np.tan(0.2 * np.pi)),
    (lambda: stats.cauchy.ppf(np.float32(0.0)), -np.inf),
    (lambda: stats.cauchy.ppf(np.float32(1.0)), np.inf),
    (lambda: stats.chi2.logpdf(np.float32(1.2e-38), 1.0), 42.739),
    (lambda: stats.chi2.logpdf(np.float32(1.2e-38), 10.0), -355.907),
]


@pytest.mark.parametrize(("call", "expected"), FAR_OUT)
def test_values_at_the_ends_of_the_range(call, expected):
    assert float(call()) == pytest.approx(expected, rel=1e-5)


def test_slopes_far_out_are_not_nan():
    assert float(grad(stats.cauchy.logsf)(np.float32(1e30))) == pytest.approx(-1e-30, rel=1e-5)
    assert float(grad(stats.cauchy.ppf)(np.float32(0.1))) == pytest.approx(
        np.pi / np.sin(0.1 * np.pi) ** 2, rel=1e-5
    )


@pytest.mark.parametrize("k", [0.0, 3.0])
def test_betabinom_slopes_at_the_ends_of_its_support_are_one_sided_differences(k):
    step = 1e-4 if k == 0 else -1e-4
    n, a, b = 3.0, 2.0, 0.5

    def logpmf(k, n, a, b):  # the continuous extension of the formula
        choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        successes = math.lgamma(k + a) + math.lgamma(n - k + b) - math.lgamma(n + a + b)
        return choices + successes - (math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))

    point = (k, n, a, b)
    slopes = grad(stats.betabinom.logpmf, argnums=(0, 1, 2, 3))(*np.float32(point))
    for i, slope in enumerate(slopes):
        moved = [tuple(x + s * (j == i) for j, x in enumerate(point)) for s in (step, 2 * step)]
        difference = (4 * logpmf(*moved[0]) - logpmf(*moved[1]) - 3 * logpmf(*point)) / (2 * step)
        np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-5)
