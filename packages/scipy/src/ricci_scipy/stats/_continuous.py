"""The continuous distributions, as rows of ``_distribution``."""

from types import ModuleType

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array
from ricci_scipy import special

from ._distribution import Example, distribution

__all__ = ["beta", "cauchy", "chi2", "expon", "gamma", "gennorm", "gumbel_l", "gumbel_r", "laplace"]
__all__ += ["logistic", "norm", "pareto", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy"]

_LOG_TURN = float(np.log(2 * np.pi))
_LOG_2 = float(np.log(2))
_LOG_PI = float(np.log(np.pi))
# arctan(1 / z) = 1 / z - 1 / (3 z³) + ..., so the relative error of the first term is less than
# 2⁻⁵⁵, below half a unit of the last place of float64.
_FAR = 2.0**27  # from here on the angle of (z, 1) is 1 / z
_ALL = "logpdf pdf cdf logcdf sf logsf"
_POSITIVE = (0.0, np.inf)


def _reciprocal_angle(z: Array) -> Array:
    """The angle of (z, 1) over π, precise for large z; also continued to complex numbers."""
    if jnp.iscomplexobj(z):
        return 0.5 - jnp.arctan(z) / np.pi
    # arctan(z) + arctan(1 / z) is half of pi for positive z, and minus that for negative ones.
    near = jnp.abs(z) <= 1
    angle = jnp.arctan(jnp.where(near, z, 1 / jnp.where(near, 1, z))) / np.pi
    return jnp.where(near, 0.5 - angle, jnp.where(z < 0, 1 + angle, angle))


def _logistic_log_density(z: Array) -> Array:
    if jnp.iscomplexobj(z):
        return z - 2 * jnp.log1p(jnp.exp(z))
    # The density is even, so |z| may replace z: then no exponential overflows.
    return -jnp.abs(z) - 2 * jnp.log1p(jnp.exp(-jnp.abs(z)))


def _log_reciprocal_angle(z: Array) -> Array:
    """The logarithm of ``_reciprocal_angle``, also where the angle underflows or is near 1."""
    if jnp.iscomplexobj(z):
        return jnp.log(_reciprocal_angle(z))
    angle = _reciprocal_angle(jnp.abs(z))
    far = z > _FAR
    near = jnp.log(jnp.where((z < 0) | far, 1.0, angle))
    logarithm = jnp.where(z < 0, jnp.log1p(-angle), near)
    return jnp.where(far, -_LOG_PI - jnp.log(jnp.where(far, z, 1.0)), logarithm)


def _complement(u: Array) -> Array:
    """1 - exp(-u) for u from 0, precise for small u, and its derivative for large u."""
    return jnp.where(u < 1, -jnp.expm1(-u), 1 - jnp.exp(-u))


def _log_complement(u: Array) -> Array:
    """The logarithm of ``_complement``, precise for large u too."""
    # -expm1(-u) is precise for small u, but rounds to 1 for large u, whose logarithm is about
    # -exp(-u). The threshold may be any number near log(2). Source: Mächler, "Accurately computing
    # log(1 - exp(-|a|))", 2012.
    small = u < 1
    near = jnp.log(-jnp.expm1(-jnp.where(small, u, 1.0)))
    return jnp.where(small, near, jnp.log1p(-jnp.exp(-jnp.where(small, 1.0, u))))


def _log_scaled_bessel(kappa: Array) -> Array:
    """log(exp(-κ) I0(κ)) for κ from 0, with the one-sided derivative at 0."""
    return jnp.log(special.i0e(kappa + float(jnp.finfo(kappa.dtype).tiny)))


def _cauchy_quantile(q: Array) -> Array:
    """tan(π (q - 1/2)), precise for q near 0 and 1, and infinite there."""
    if jnp.iscomplexobj(q):
        return jnp.tan(np.pi * (q - 0.5))
    high, ends = q > 0.75, (q == 0) | (q == 1)
    tail = jnp.where(high, 1 - q, q)  # exact
    outer = tail < 0.25
    near = -1 / jnp.tan(np.pi * jnp.where(outer & ~ends, tail, 0.25))
    # Near the ends of [0, 1] the tangent is -cot(π q), of an argument that has not lost the digits
    # of q by the subtraction of 1/2. In the middle the subtraction is exact.
    middle = jnp.tan(np.pi * (jnp.where(outer | ends, 0.5, q) - 0.5))
    value = jnp.where(outer, jnp.where(high, -near, near), middle)
    return jnp.where(ends, jnp.where(high, np.inf, -np.inf), value)


def _log_mass(a: Array, b: Array) -> Array:
    """The logarithm of the standard normal probability of [a, b], precise in the tails."""
    # By symmetry an interval of positive numbers is reflected to the left, where Φ is small and its
    # logarithm precise. There log(Φ(h) - Φ(l)) = log Φ(h) + log(1 - Φ(l) / Φ(h)). An interval
    # around 0 has no such cancellation, and is computed as 1 without the two tails.
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    mixed = high > 0
    # Both ends may be the same infinity.
    point = low == high
    # Each formula is evaluated at points of its case only, so that gradients are not NaN.
    other = mixed | point
    l, h = jnp.where(other, -2.0, low), jnp.where(other, -1.0, high)
    upper = special.log_ndtr(h)
    quotient = special.log_ndtr(l) - upper
    empty = point | (quotient >= 0)
    tail = jnp.where(empty, -np.inf, upper + jnp.log(-jnp.expm1(jnp.where(empty, -1.0, quotient))))
    l, h = jnp.where(mixed, low, -1.0), jnp.where(mixed, high, 1.0)
    return jnp.where(mixed, jnp.log1p(-special.ndtr(l) - special.ndtr(-h)), tail)


norm: ModuleType = distribution(
    "norm",
    "normal distribution",
    f"{_ALL} ppf isf",
    Example("1.0", 0.2419707, 0.8413447, {"ppf": ("0.9", 1.2816)}),
    complexes="logpdf pdf",
    default="ppf isf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.1",
    logpdf=lambda z: -0.5 * (z * z + _LOG_TURN),
    cdf=special.ndtr,
    logcdf=special.log_ndtr,
    sf=lambda z: special.ndtr(-z),
    logsf=lambda z: special.log_ndtr(-z),
    ppf=special.ndtri,
    isf=lambda q: -special.ndtri(q),
)

cauchy: ModuleType = distribution(
    "cauchy",
    "Cauchy distribution",
    f"{_ALL} ppf isf",
    Example("1.0", 0.1591549, 0.75, {"ppf": ("0.75", 1.0)}),
    complexes=f"{_ALL} ppf isf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.3",
    logpdf=lambda z: -_LOG_PI - jnp.log1p(z * z),
    cdf=lambda z: _reciprocal_angle(-z),
    sf=_reciprocal_angle,
    logcdf=lambda z: _log_reciprocal_angle(-z),
    logsf=_log_reciprocal_angle,
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
)

expon: ModuleType = distribution(
    "expon",
    "exponential distribution",
    f"{_ALL} ppf",
    Example("1.0", 0.3678794, 0.6321206, {"ppf": ("0.5", 0.6931)}),
    support=_POSITIVE,
    complexes="ppf",
    weak=f"{_ALL} ppf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.7",
    logpdf=lambda z: -z,
    cdf=lambda z: -jnp.expm1(-z),
    sf=lambda z: jnp.exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -jnp.log1p(-q),
)

gamma: ModuleType = distribution(
    "gamma",
    "gamma distribution",
    _ALL,
    Example("1.0, 2.0", 0.3678794, 0.2642411),
    shapes={"a": "the shape, a number above 0"},
    support=_POSITIVE,
    valid=lambda a: a > 0,
    weak="sf logsf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.11",
    logpdf=lambda z, a: special.xlogy(a - 1, z) - z - special.gammaln(a),
    cdf=lambda z, a: special.gammainc(a, z),
    sf=lambda z, a: special.gammaincc(a, z),
)

chi2: ModuleType = distribution(
    "chi2",
    "chi-square distribution",
    _ALL,
    Example("1.0, 3.0", 0.2419707, 0.198748),
    shapes={"df": "the degrees of freedom, a number above 0"},
    support=_POSITIVE,
    valid=lambda df: df > 0,
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.6",
    logpdf=lambda z, df: (
        # Half of the smallest number would be 0, so z itself stands in the logarithm.
        special.xlogy(0.5 * df - 1, z) - 0.5 * (z + df * _LOG_2) - special.gammaln(0.5 * df)
    ),
    cdf=lambda z, df: special.gammainc(0.5 * df, 0.5 * z),
    sf=lambda z, df: special.gammaincc(0.5 * df, 0.5 * z),
)

beta: ModuleType = distribution(
    "beta",
    "beta distribution",
    _ALL,
    Example("0.3, 2.0, 3.0", 1.764, 0.3483),
    shapes={"a": "the first shape, a number above 0", "b": "the second shape, a number above 0"},
    support=(0.0, 1.0),
    valid=lambda a, b: (a > 0) & (b > 0),
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.17",
    logpdf=lambda z, a, b: (
        special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z) - special.betaln(a, b)
    ),
    cdf=lambda z, a, b: special.betainc(a, b, z),
    # DLMF 8.17.4: the complement is the same function of 1 - z, with its parameters exchanged. It
    # does not cancel where the probability is near 0.
    sf=lambda z, a, b: special.betainc(b, a, 1 - z),
)

laplace: ModuleType = distribution(
    "laplace",
    "Laplace distribution",
    "logpdf pdf cdf",
    Example("1.0", 0.1839397, 0.8160603),
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.12",
    logpdf=lambda z: -jnp.abs(z) - _LOG_2,
    cdf=lambda z: jnp.where(z < 0, 0.5 * jnp.exp(-jnp.abs(z)), 1 - 0.5 * jnp.exp(-jnp.abs(z))),
)

logistic: ModuleType = distribution(
    "logistic",
    "logistic distribution",
    "logpdf pdf cdf sf ppf isf",
    Example("1.0", 0.1966119, 0.7310586, {"ppf": ("0.75", 1.0986)}),
    variables={"ppf": "x", "isf": "x"},
    complexes="logpdf pdf cdf sf ppf isf",
    weak="cdf sf",
    source="Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2, ch. 23",
    logpdf=_logistic_log_density,
    cdf=lax.logistic,
    sf=lambda z: lax.logistic(-z),
    ppf=special.logit,
    isf=lambda q: -special.logit(q),
)

gumbel_r: ModuleType = distribution(
    "gumbel_r",
    "Gumbel distribution of maxima",
    f"{_ALL} ppf",
    Example("1.0", 0.2546464, 0.6922006, {"ppf": ("0.5", 0.3665)}),
    variables={"ppf": "p"},
    weak="logpdf pdf cdf logcdf logsf ppf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.16",
    logpdf=lambda z: jnp.where(jnp.isinf(z), -np.inf, -z - jnp.exp(-z)),
    cdf=lambda z: jnp.exp(-jnp.exp(-z)),
    logcdf=lambda z: -jnp.exp(-z),
    sf=lambda z: -jnp.expm1(-jnp.exp(-z)),
    ppf=lambda p: -jnp.log(-jnp.log(p)),
)

gumbel_l: ModuleType = distribution(
    "gumbel_l",
    "Gumbel distribution of minima",
    f"{_ALL} ppf",
    Example("1.0", 0.1793741, 0.934012, {"ppf": ("0.5", -0.3665)}),
    variables={"ppf": "p"},
    weak=f"{_ALL} ppf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.16",
    logpdf=lambda z: jnp.where(jnp.isinf(z), -np.inf, z - jnp.exp(z)),
    cdf=lambda z: -jnp.expm1(-jnp.exp(z)),
    sf=lambda z: jnp.exp(-jnp.exp(z)),
    logsf=lambda z: -jnp.exp(z),
    ppf=lambda p: jnp.log(-jnp.log1p(-p)),
)

pareto: ModuleType = distribution(
    "pareto",
    "Pareto distribution",
    f"{_ALL} ppf",
    Example("2.0, 3.0", 0.1875, 0.875, {"ppf": ("0.875, 3.0", 2.0)}),
    shapes={"b": "the exponent, a number above 0"},
    support=(1.0, np.inf),
    valid=lambda b: b > 0,
    complexes="ppf",
    weak="logcdf",
    source="Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, ch. 20",
    # The logarithm of a Pareto variable is exponential with rate b: all but the density follow from
    # u = b log(z), with the formulas of that distribution.
    logpdf=lambda z, b: jnp.log(b) - (b + 1) * jnp.log(z),
    cdf=lambda z, b: _complement(b * jnp.log(z)),
    logcdf=lambda z, b: _log_complement(b * jnp.log(z)),
    sf=lambda z, b: jnp.exp(-b * jnp.log(z)),
    logsf=lambda z, b: -b * jnp.log(z),
    ppf=lambda q, b: jnp.exp(-jnp.log1p(-q) / b),
)

t: ModuleType = distribution(
    "t",
    "t distribution",
    "logpdf pdf",
    Example("1.0, 3.0", 0.2067483),
    shapes={"df": "the degrees of freedom, a number above 0"},
    valid=lambda df: df > 0,
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.4",
    logpdf=lambda z, df: (
        # The constant Γ((ν + 1) / 2) / (√(π ν) Γ(ν / 2)) is 1 / (√ν B(1/2, ν/2)), as Γ(1/2) = √π.
        # The difference of two log-gammas would lose digits for many degrees of freedom.
        -special.betaln(0.5, 0.5 * df) - 0.5 * jnp.log(df) - 0.5 * (df + 1) * jnp.log1p(z * z / df)
    ),
)

truncnorm: ModuleType = distribution(
    "truncnorm",
    "truncated normal distribution",
    _ALL,
    Example("0.5, -1.0, 2.0", 0.4300851, 0.6508804),
    shapes={
        "a": "the lower end, for the standardized variable",
        "b": "the upper end, for the standardized variable",
    },
    support=(lambda a, b: a, lambda a, b: b),
    valid=lambda a, b: a < b,
    source="Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, ch. 13",
    logpdf=lambda z, a, b: -0.5 * (z * z + _LOG_TURN) - _log_mass(a, b),
    cdf=lambda z, a, b: jnp.exp(_log_mass(a, z) - _log_mass(a, b)),
    logcdf=lambda z, a, b: _log_mass(a, z) - _log_mass(a, b),
    sf=lambda z, a, b: jnp.exp(_log_mass(z, b) - _log_mass(a, b)),
    logsf=lambda z, a, b: _log_mass(z, b) - _log_mass(a, b),
)

uniform: ModuleType = distribution(
    "uniform",
    "uniform distribution",
    "logpdf pdf cdf ppf",
    Example("0.5, 0.0, 2.0", 0.5, 0.25, {"ppf": ("0.5, 0.0, 2.0", 1.0)}),
    support=(0.0, 1.0),
    complexes="ppf",
    weak="logpdf pdf cdf ppf",
    source="NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.2",
    logpdf=lambda z: 0 * z,
    cdf=lambda z: z,
    ppf=lambda q: q,
)

vonmises: ModuleType = distribution(
    "vonmises",
    "von Mises distribution",
    "logpdf pdf",
    Example("1.0, 2.0", 0.2057145),
    shapes={"kappa": "the concentration, a number from 0"},
    located="",
    valid=lambda kappa: kappa >= 0,
    weak="logpdf pdf",
    source="Mardia and Jupp, Directional Statistics, 3.5.4",
    # Density and Bessel function are both scaled by exp(-κ), so that neither overflows for large κ.
    logpdf=lambda x, kappa: kappa * (jnp.cos(x) - 1) - (_LOG_TURN + _log_scaled_bessel(kappa)),
)

wrapcauchy: ModuleType = distribution(
    "wrapcauchy",
    "wrapped Cauchy distribution",
    "logpdf pdf",
    Example("1.0, 0.5", 0.168193),
    shapes={"c": "the concentration, a number between 0 and 1"},
    support=(0.0, float(2 * np.pi)),
    located="",
    valid=lambda c: (c > 0) & (c < 1),
    weak="logpdf pdf",
    source="Mardia and Jupp, Directional Statistics, 3.5.7",
    logpdf=lambda x, c: jnp.log1p(-c * c) - _LOG_TURN - jnp.log(1 + c * c - 2 * c * jnp.cos(x)),
)

gennorm: ModuleType = distribution(
    "gennorm",
    "generalized normal distribution",
    "logpdf pdf cdf",
    Example("1.0, 3.0", 0.2059843, 0.9521443),
    shapes={"beta": "the exponent, a number above 0"},
    located="",
    valid=lambda beta: beta > 0,
    weak="logpdf pdf cdf",
    source="Nadarajah, J. Appl. Statist. 32 (2005) 685",
    logpdf=lambda x, beta: (
        jnp.log(0.5 * beta) - special.gammaln(1 / beta) - jnp.power(jnp.abs(x), beta)
    ),
    cdf=lambda x, beta: (
        0.5 * (1 + lax.sign(x) * special.gammainc(1 / beta, jnp.power(jnp.abs(x), beta)))
    ),
)
