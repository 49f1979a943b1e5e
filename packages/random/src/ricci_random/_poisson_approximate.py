"""Poisson numbers by inverting the distribution function, nearly, with no loop to wait in."""

from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import python_scalar_dtype

from ._arguments import float_info, with_rank
from ._normal import _normal

_COUNTED_TO = 19  # probabilities that are added up for small rates
_SMALL = 7.0  # rates below this are small
_DEGREE = 11  # of the expansion of the deviance about 0, whose terms start at the third


def poisson_approximate(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Numbers nearly of the Poisson distribution, inside a sampler; in the default float dtype."""
    work = python_scalar_dtype(float)
    lam = with_rank(lax.convert_element_type(lam, work), len(shape))
    x = _normal(key, shape=shape, dtype=work)
    number = jnp.where(lam < _SMALL, _counted(x, lam), _expanded(x, lam))
    return lax.convert_element_type(number, dtype)


def _counted(x: Any, lam: Any) -> Any:
    """How many values of the distribution function are below the normal number's."""
    u = _normal_distribution(x)
    probability = total = lax.exp(-lam)
    count = lax.convert_element_type(total < u, x.dtype)
    for k in range(1, _COUNTED_TO):
        probability = probability * (lam / float(k))
        total = total + probability
        count = count + lax.convert_element_type(total < u, x.dtype)
    return count


def _normal_distribution(x: Any) -> Any:
    """The normal distribution function, by whichever of erf and erfc keeps its digits."""
    half_root = float_info(x.dtype)(0.5 * np.sqrt(2))
    y = x * half_root
    size = lax.abs(y)
    outer = lax.select(y > 0, 2.0 - lax.erfc(size), lax.erfc(size))
    return 0.5 * lax.select(size < half_root, 1.0 + lax.erf(y), outer)


def _expanded(x: Any, lam: Any) -> Any:
    """The quantile by its expansion in the rate's root (Cornish and Fisher), then made exact.

    The two integers near it are each compared by a normal approximation of the distribution
    function (Peizer and Pratt), and count where that says that the number lies beyond them.
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


def _normal_score(k: Any, lam: Any) -> Any:
    """The normal number that stands where ``k`` stands in the Poisson distribution, nearly."""
    is_negative = k < 0
    k = lax.max(k, float_info(k.dtype)(0))
    ratio = (k + 0.5) / lam
    difference = ratio - 1.0
    is_near = lax.abs(difference) < 0.25
    series: Any = lax.full_like(difference, 0)
    for n in range(_DEGREE, 2, -1):
        series = difference * ((-1) ** n * 2.0 / (n * (n - 1)) + series)
    far_ratio = jnp.where(is_near, 2.0, ratio)
    far_difference = jnp.where(is_near, 1.0, difference)
    exact = 1.0 - lax.square(far_ratio) + 2.0 * far_ratio * lax.log(far_ratio)
    deviance = jnp.where(is_near, series, exact / lax.square(far_difference))
    score = (k - lam + 2.0 / 3.0 + 0.02 / (k + 1.0)) * lax.sqrt((1.0 + deviance) / lam)
    return jnp.where(is_negative, -np.inf, score)
