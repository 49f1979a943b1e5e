"""Approximate Poisson numbers by inversion of the distribution function, without loops."""

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, Shape, python_scalar_dtype

from ._float_info import float_info
from ._normal import _normal
from ._parameters import with_rank

_SMALL = 7.0  # below this rate, the probabilities of the first counts are summed
_COUNTED_TO = 19  # the number of summed probabilities
_DEGREE = 11  # of the deviance's expansion about 0, which starts with the third power


def poisson_approximate(key: Array, lam: Array, shape: Shape, dtype: np.dtype) -> Array:
    """Draw approximate Poisson numbers, inside a sampler; computed in the default float dtype."""
    work = python_scalar_dtype(float)
    lam = with_rank(lax.convert_element_type(lam, work), len(shape))
    x = _normal(key, shape=shape, dtype=work)
    number = jnp.where(lam < _SMALL, _counted(x, lam), _expanded(x, lam))
    return lax.convert_element_type(number, dtype)


def _counted(x: Array, lam: Array) -> Array:
    """The Poisson quantile at the rank of a normal number ``x``, for small rates.

    It is the number of counts k whose distribution function is below that of ``x``.
    """
    u = _normal_distribution(x)
    probability = total = lax.exp(-lam)
    count = lax.convert_element_type(total < u, x.dtype)
    for k in range(1, _COUNTED_TO):
        probability = probability * (lam / float(k))
        total = total + probability
        count = count + lax.convert_element_type(total < u, x.dtype)
    return count


def _normal_distribution(x: Array) -> Array:
    """The normal distribution function, by erf near 0 and by erfc, which is accurate, far out."""
    half_root = float_info(x.dtype)(0.5 * np.sqrt(2))
    y = x * half_root
    size = lax.abs(y)
    outer = lax.select(y > 0, 2.0 - lax.erfc(size), lax.erfc(size))
    return 0.5 * lax.select(size < half_root, 1.0 + lax.erf(y), outer)


def _expanded(x: Array, lam: Array) -> Array:
    """The Poisson quantile at the rank of a normal number ``x``, for larger rates.

    The expansion of Cornish and Fisher in the root of the rate is a guess. The quantile is the
    guess, or one less or more, as determined by the normal approximation of Peizer and Pratt.
    """
    root = lax.sqrt(lam)
    guess = lam + root * x - 2.0 / 3.0 + lax.square(x) / 6.0
    guess = guess + x * (1.0 - lax.square(x)) / (72.0 * root)
    guess = lax.ceil(guess + 0.6)
    number = guess + 1.0
    for candidate in (guess, guess - 1.0):
        below = jnp.greater_equal(_normal_score(candidate, lam), x)
        number = number - lax.convert_element_type(below, x.dtype)
    return lax.max(number, float_info(x.dtype)(0))


def _normal_score(k: Array, lam: Array) -> Array:
    """The normal number whose rank is nearly that of ``k`` in the Poisson distribution.

    Source: Peizer and Pratt, "A normal approximation for binomial, F, beta, and other common,
    related tail probabilities, I", 1968.
    """
    is_negative = k < 0
    k = lax.max(k, float_info(k.dtype)(0))
    ratio = (k + 0.5) / lam
    difference = ratio - 1.0
    is_near = lax.abs(difference) < 0.25
    series = lax.full_like(difference, 0)
    for n in range(_DEGREE, 2, -1):
        series = difference * ((-1) ** n * 2.0 / (n * (n - 1)) + series)
    far_ratio = jnp.where(is_near, 2.0, ratio)
    far_difference = jnp.where(is_near, 1.0, difference)
    exact = 1.0 - lax.square(far_ratio) + 2.0 * far_ratio * lax.log(far_ratio)
    deviance = jnp.where(is_near, series, exact / lax.square(far_difference))
    score = (k - lam + 2.0 / 3.0 + 0.02 / (k + 1.0)) * lax.sqrt((1.0 + deviance) / lam)
    return jnp.where(is_negative, -np.inf, score)
