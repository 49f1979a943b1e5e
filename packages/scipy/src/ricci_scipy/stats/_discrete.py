"""The discrete distributions, as rows of ``_distribution``."""

from types import ModuleType

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array
from ricci_scipy import special
from ricci_scipy.special._beta_functions import log_choices

from ._distribution import Example, distribution

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]

_SUCCESS = "the probability of success"
_COUNTS = (0.0, np.inf)
_UPTO = (0.0, lambda n, *rest: n)


def _poisson_entropy(mu: Array) -> Array:
    """The entropy: a sum over 100 counts for a mean below 25, else an asymptotic series."""
    small = mu < 25
    # For a mean below 25 the counts from 100 on have a probability of less than 1e-28 together.
    k = np.arange(100.0).astype(mu.dtype)
    m = jnp.expand_dims(jnp.where(small, mu, 1.0), -1)
    log = special.xlogy(k, m) - m - special.gammaln(k + 1)
    total = -jnp.sum(jnp.exp(log) * jnp.where(jnp.isinf(log), 0.0, log), axis=-1)
    # H = log(2πe μ) / 2 - 1 / (12 μ) - 1 / (24 μ²) - 19 / (360 μ³) + O(μ⁻⁴), by Horner's rule in 1
    # / μ.
    far = jnp.where(small, 25.0, mu)
    series = 1 / 12 + (1 / 24 + 19 / 360 / far) / far
    large = 0.5 * jnp.log(2 * np.pi * np.e * far) - series / far
    return jnp.where(mu < 0, np.nan, jnp.where(small, total, large))


bernoulli: ModuleType = distribution(
    "bernoulli",
    "Bernoulli distribution",
    "logpmf pmf cdf ppf",
    Example("1, 0.25", 0.25, 1.0, {"ppf": ("0.5, 0.25", 0.0)}),
    shapes={"p": _SUCCESS},
    support=(0.0, 1.0),
    located="loc",
    bare="cdf ppf",
    variables={"cdf": "k"},
    valid=lambda p: (p >= 0) & (p <= 1),
    source="Johnson, Kemp and Kotz, Univariate Discrete Distributions, 3.2",
    logpmf=lambda k, p: special.xlogy(k, p) + special.xlog1py(1 - k, -p),
    cdf=lambda k, p: jnp.where(k < 1, 1 - p, jnp.where(jnp.isnan(k), k, jnp.ones_like(p))),
    ppf=lambda q, p: jnp.where(q <= 1 - p, jnp.zeros_like(p), 1.0),
)

binom: ModuleType = distribution(
    "binom",
    "binomial distribution",
    "logpmf pmf",
    Example("1, 3, 0.25", 0.421875),
    shapes={"n": "how many trials", "p": _SUCCESS},
    support=_UPTO,
    located="loc",
    valid=lambda n, p: (n >= 0) & (p >= 0) & (p <= 1),
    weak="logpmf pmf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.18",
    logpmf=lambda k, n, p: log_choices(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
)

betabinom: ModuleType = distribution(
    "betabinom",
    "beta-binomial distribution",
    "logpmf pmf",
    Example("1, 3, 2.0, 2.0", 0.3),
    shapes={
        "n": "how many trials",
        "a": "the first shape, a number above 0",
        "b": "the second shape, a number above 0",
    },
    support=_UPTO,
    located="loc",
    valid=lambda n, a, b: (n >= 0) & (a > 0) & (b > 0),
    source="Johnson, Kemp and Kotz, Univariate Discrete Distributions, 6.2.2",
    logpmf=lambda k, n, a, b: (
        # The binomial probability, integrated over p with the density of a beta distribution.
        log_choices(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b)
    ),
)

geom: ModuleType = distribution(
    "geom",
    "geometric distribution",
    "logpmf pmf",
    Example("2, 0.25", 0.1875),
    shapes={"p": _SUCCESS},
    support=(1.0, np.inf),
    located="loc",
    valid=lambda p: (p > 0) & (p <= 1),
    source="Johnson, Kemp and Kotz, Univariate Discrete Distributions, 5.2",
    logpmf=lambda k, p: special.xlog1py(k - 1, -p) + jnp.log(p),
)

nbinom: ModuleType = distribution(
    "nbinom",
    "negative binomial distribution",
    "logpmf pmf",
    Example("2, 3, 0.25", 0.05273438),
    shapes={"n": "how many successes end it", "p": _SUCCESS},
    support=_COUNTS,
    located="loc",
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    source="Johnson, Kemp and Kotz, Univariate Discrete Distributions, 5.1",
    logpmf=lambda k, n, p: (
        special.gammaln(k + n)
        - special.gammaln(n)
        - special.gammaln(k + 1)
        + special.xlogy(n, p)
        + special.xlog1py(k, -p)
    ),
)

poisson: ModuleType = distribution(
    "poisson",
    "Poisson distribution",
    "logpmf pmf cdf entropy",
    Example("2, 3.0", 0.2240418, 0.4231901, {"entropy": ("3.0", 1.9315)}),
    shapes={"mu": "the mean, a number from 0"},
    support=_COUNTS,
    located="loc",
    variables={"cdf": "k", "entropy": ""},
    valid=lambda mu: mu >= 0,
    weak="logpmf pmf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.19",
    logpmf=lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1) - mu,
    # DLMF 8.4.10: the sum of the first terms of the exponential series is an incomplete gamma
    # function.
    cdf=lambda k, mu: special.gammaincc(jnp.floor(k) + 1, mu),
    entropy=_poisson_entropy,
)
