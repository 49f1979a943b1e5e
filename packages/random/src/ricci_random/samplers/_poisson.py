"""The Poisson distribution: Knuth's method for small rates, Hörmann's for others.

The approximate method inverts the distribution function, without loops.
"""

from typing import Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import with_out_sharding
from ricci_numpy.authoring import check_choice
from ricci_random.keys._key_arguments import check_key, generator_of, staged
from ricci_random.keys._primitives import subkeys

from . import _exact_functions as exact
from ._normal import _normal
from ._parameters import Sharding, float_info, sampled_shape, to_shape, with_rank
from ._rejection import TableMountain, draw_until_done, most_rounds, transformed_rejection
from ._uniform import _uniform

__all__ = ["poisson"]

_SMALL = 7.0  # below this rate, the probabilities of the first counts are summed
_COUNTED_TO = 19  # the number of summed probabilities
_DEGREE = 11  # of the deviance's expansion about 0, which starts with the third power


@staged
def _poisson_approx(key: ir.Array, lam: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    """Draw approximate Poisson numbers, inside a sampler; computed in the default float dtype."""
    work = ir.python_scalar_dtype(float)
    lam = with_rank(lax.convert_element_type(lam, work), len(shape))
    x = _normal(key, shape=shape, dtype=work)
    number = jnp.where(lam < _SMALL, _counted(x, lam), _expanded(x, lam))
    return lax.convert_element_type(number, dtype)


def _counted(x: ir.Array, lam: ir.Array) -> ir.Array:
    """The Poisson quantile at the rank of a normal number ``x``, for small rates.

    It is the number of counts k whose distribution function is below that of ``x``.
    """
    u = _normal_distribution(x)
    # P(k) = P(k - 1) lam / k, from P(0) = exp(-lam).
    probability = total = exact.exp(-lam)
    count = lax.convert_element_type(total < u, x.dtype)
    for k in range(1, _COUNTED_TO):
        probability = probability * (lam / float(k))
        total = total + probability
        count = count + lax.convert_element_type(total < u, x.dtype)
    return count


def _normal_distribution(x: ir.Array) -> ir.Array:
    """The normal distribution function, by erf near 0 and by erfc, which is accurate, far out."""
    half_root = float_info(x.dtype)(0.5 * np.sqrt(2))
    y = x * half_root
    size = lax.abs(y)
    outer = lax.select(y > 0, 2.0 - exact.erfc(size), exact.erfc(size))
    return 0.5 * lax.select(size < half_root, 1.0 + lax.erf(y), outer)


def _expanded(x: ir.Array, lam: ir.Array) -> ir.Array:
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


def _normal_score(k: ir.Array, lam: ir.Array) -> ir.Array:
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
    # The exact formula is 0 / 0 at ratio 1, and inaccurate near it; where the series is used, it
    # gets harmless operands, so that derivatives are finite as well.
    far_ratio = jnp.where(is_near, 2.0, ratio)
    far_difference = jnp.where(is_near, 1.0, difference)
    formula = 1.0 - lax.square(far_ratio) + 2.0 * far_ratio * exact.log(far_ratio)
    deviance = jnp.where(is_near, series, formula / lax.square(far_difference))
    score = (k - lam + 2.0 / 3.0 + 0.02 / (k + 1.0)) * lax.sqrt((1.0 + deviance) / lam)
    return jnp.where(is_negative, -np.inf, score)


_FLOAT = np.dtype("float32")
_REJECTED_FROM = 10.0  # the least rate that PTRS is for
# Both methods run for all elements. For elements that Knuth's method draws, PTRS gets this rate,
# with which it ends soon.
_HARMLESS_RATE = 100_000.0


@staged
def _poisson_knuth(key: ir.Array, lam: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    """Count the events of a process of that rate within a unit of time.

    The times between events are -log(u) / lam for uniform numbers u. So the logarithms are summed
    until their sum passes -lam; the event that passes it does not count.
    """

    def wait(key, value, is_within):
        count, log_product = value
        key, uniform_key = subkeys(key)
        count = lax.select(is_within, count + 1, count)
        u = _uniform(uniform_key, 0.0, 1.0, shape=shape, dtype=_FLOAT)
        # -log(u) is the exponential waiting time for the next event. The sum of logarithms cannot
        # underflow, unlike the product of the numbers u.
        log_product = log_product + exact.log(u)
        return key, (count, log_product), log_product > -lam

    count, log_one = lax.full_like(lam, 0, dtype, shape), lax.full_like(lam, 0, _FLOAT, shape)
    start = (key, (count, log_one), log_one > -lam)
    count, _ = draw_until_done(wait, start, most_rounds(dtype))
    return count - 1


@staged
def _poisson_rejection(
    key: ir.Array, lam: ir.Array, *, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:
    """Hörmann's algorithm PTRS, for rates from 10 on."""
    log_lam = exact.log(lam)
    # Transformed rejection with squeeze: a uniform pair is mapped to a table-mountain hat over the
    # density; ``v_r`` is the part accepted without computing the density. The constants are those
    # of Hörmann, Insurance: Mathematics and Economics 12 (1993) 39.
    b = 0.931 + 2.53 * lax.sqrt(lam)
    hat = TableMountain(
        a=-0.059 + 0.02483 * b,
        b=b,
        c=(lam, 0.43),
        alpha=1.1239 + 1.1328 / (b - 3.4),
        v_r=0.9277 - 3.6224 / (b - 2),
    )

    def log_density(k):
        return -lam + k * log_lam - lax.lgamma(k + 1)

    def is_outside(k, us, v):
        return lax.bitwise_or(k < 0, lax.bitwise_and(us < 0.013, v > us))

    like = lax.full_like(lam, 0, _FLOAT, shape)
    count = transformed_rejection(key, hat, log_density, is_outside, like, most_rounds(dtype))
    return lax.convert_element_type(count, dtype)


@staged
def _poisson(key: ir.Array, lam: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    # A rate of NaN goes to Knuth's method, in which it is never pending: no comparison is true.
    is_small = lax.bitwise_or(lax.ne(lam, lam), lam < _REJECTED_FROM)
    small = lax.select(is_small, lam, lax.full_like(lam, 0.0))
    large = lax.select(is_small, lax.full_like(lam, _HARMLESS_RATE), lam)
    counted = _poisson_knuth(key, small, shape=shape, dtype=dtype)
    accepted = _poisson_rejection(key, large, shape=shape, dtype=dtype)
    result = lax.select(is_small, counted, accepted)
    return lax.select(lam == 0, lax.full_like(result, 0), result)


def poisson(
    key: ir.ArrayLike,
    lam: ir.ArrayLike,
    shape: ir.ShapeLike | None = None,
    dtype: ir.DTypeLike | None = None,
    *,
    method: Literal["exact", "approximate"] = "exact",
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers of the Poisson distribution: counts of events whose expected number is ``lam``.

    Args:
      key: one key, of the generator threefry2x32 if the method is ``"exact"``.
      lam: the rate, a scalar or array of numbers ≥ 0 that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``lam``.
      dtype: an integer dtype, by default the default one.
      method: ``"exact"``, or ``"approximate"``, without loops.
      out_sharding: as for ``uniform``.

    Returns:
      An integer array of shape ``shape``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the method is unknown, ``dtype`` is not an integer dtype, or ``lam`` does not
        broadcast to ``shape``.
      NotImplementedError: for the method ``"exact"`` with a key of another generator.

    Example:
      >>> from ricci import random
      >>> random.poisson(random.key(0), 3.0, (3,)).shape
      (3,)

    Source: Knuth, The Art of Computer Programming, volume 2, 3.4.1; Hörmann, "The transformed
    rejection method for generating Poisson random variables", 1993.
    """
    key = check_key(key, "poisson")
    result_dtype = ir.explicit_dtype(int if dtype is None else dtype, "poisson")
    if not ir.issubdtype(result_dtype, np.integer):
        raise ValueError(f"poisson: samples are integers, got dtype={result_dtype}.")
    check_choice("poisson", "method", method, ("exact", "approximate"))
    impl = generator_of(key).name
    if method == "exact" and impl != "threefry2x32":
        raise NotImplementedError(
            f"poisson: method='exact' takes keys of the generator threefry2x32, and this key is of "
            f"{impl}. Create the key with impl='threefry2x32', or pass method='approximate'."
        )
    rate: ir.Array = jnp.asarray(lam)
    sizes = sampled_shape("poisson", shape, rate)
    if method == "approximate":
        return with_out_sharding(
            _poisson_approx(key, rate, shape=sizes, dtype=result_dtype), out_sharding
        )
    rate = lax.convert_element_type(to_shape(rate, sizes), _FLOAT)
    return with_out_sharding(_poisson(key, rate, shape=sizes, dtype=result_dtype), out_sharding)
