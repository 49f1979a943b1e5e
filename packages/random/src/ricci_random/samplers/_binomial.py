"""The binomial distribution, by two methods, and the multinomial distribution."""

from functools import partial

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Shape, ShapeLike
from ricci_random.keys._key_arguments import check_key, staged
from ricci_random.keys._primitives import random_split_p, subkeys, type_of

from . import _exact_functions as exact
from . import _parameters as parameters
from ._rejection import TableMountain, draw_until_done, most_rounds, transformed_rejection
from ._uniform import _uniform

__all__ = ["binomial", "multinomial"]

# Both methods run for all elements. Where the other method's result is used, a method gets these
# parameters, with which its loop ends soon.
_HARMLESS_P, _HARMLESS_N, _EVEN = 0.01, 10_000.0, 0.5
_INVERTED_TO = 10.0  # the largest mean for which trials are counted; BTRS needs a larger one
# log(k!) less Stirling's approximation (k + 1/2) log(k + 1) - (k + 1) + log(2 π) / 2, for k from 0.
_STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: Array) -> Array:
    """The error of Stirling's approximation of log(k!): from the table, or by its series."""
    greatest = len(_STIRLING_TAILS) - 1
    table = jnp.asarray(np.array(_STIRLING_TAILS, k.dtype))
    is_tabulated = k <= greatest
    # The series is evaluated at the end of the table for all larger numbers. There it is not
    # quite Stirling's tail, but it decides which proposals JAX accepts.
    k = lax.clamp(parameters.float_info(k.dtype)(0), k, parameters.float_info(k.dtype)(greatest))
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    index = lax.convert_element_type(lax.floor(k), np.int32)
    return lax.select(is_tabulated, table.at[index].get(mode="promise_in_bounds"), series)


def _inverted(key: Array, n: Array, p: Array, dtype: np.dtype) -> Array:
    """Count the successes in ``n`` trials by drawing the numbers of trials between them.

    The number of trials up to a success is geometric: the ceiling of log(u) / log(1 - p) for a
    uniform number u. The success that comes after the last trial does not count.
    """
    log_failure = exact.log1p(-p)

    def wait(key, value, is_within):
        count, trials = value
        uniform_key, key = subkeys(key)
        count = lax.select(is_within, count + 1, count)
        u = _uniform(uniform_key, 0.0, 1.0, shape=n.shape, dtype=n.dtype)
        # The number of trials up to the next success is geometric: P(more than k) = (1 - p)^k.
        trials = trials + lax.ceil(exact.log(u) / log_failure)
        return key, (count, trials), trials <= n

    zero = lax.full_like(n, 0)
    count, _ = draw_until_done(wait, (key, (zero, zero), zero <= n), most_rounds(dtype))
    return count - 1


def _rejected(key: Array, n: Array, p: Array, dtype: np.dtype) -> Array:
    """Hörmann's algorithm BTRS, for p ≤ 1/2 and means from 10 on."""
    deviation = lax.sqrt(n * p * (1 - p))
    # As for PTRS, but the hat is fitted to the binomial density; the constants are those of
    # Hörmann, J. Stat. Comput. Simul. 46 (1993) 101. Ratios to the density at the mode avoid the
    # binomial coefficients' overflow.
    b = 1.15 + 2.53 * deviation
    hat = TableMountain(
        a=-0.0873 + 0.0248 * b + 0.01 * p,
        b=b,
        c=(n * p + 0.5,),
        alpha=(2.83 + 5.1 / b) * deviation,
        v_r=0.92 - 4.2 / b,
    )
    mode = lax.floor((n + 1) * p)
    log_density = partial(_log_density, n, p / (1 - p), mode)

    def is_outside(k, us, v):
        return lax.bitwise_or(k < 0, k > n)

    return transformed_rejection(key, hat, log_density, is_outside, n, most_rounds(dtype))


def _log_density(n: Array, odds: Array, mode: Array, k: Array) -> Array:
    """The logarithm of the probability of ``k`` over that of the mode.

    The factorials of both binomial coefficients are written by Stirling's formula with its tail,
    whose similar terms in numerator and denominator are then combined. So no large
    logarithms of factorials are subtracted from each other.
    """
    at_mode = (mode + 0.5) * exact.log((mode + 1.0) / (odds * (n - mode + 1.0)))
    failures = (n + 1.0) * exact.log((n - mode + 1.0) / (n - k + 1.0))
    at_k = (k + 0.5) * exact.log(odds * (n - k + 1.0) / (k + 1.0))
    tails = [(lax.add, mode), (lax.add, n - mode), (lax.sub, k), (lax.sub, n - k)]
    total = at_mode + failures + at_k
    for add_or_sub, factorial in tails:
        total = add_or_sub(total, _stirling_tail(factorial))
    return total


def binomial_of(key: Array, n: Array, p: Array, dtype: np.dtype) -> Array:
    """Draw from the binomial distribution, inside a sampler; ``n`` and ``p`` of one type.

    The rarer outcome is counted, successes or failures, as BTRS is for p ≤ 1/2.
    """
    is_rare = p < 0.5
    # Both methods take probabilities up to 1/2. For larger ones the failures are counted instead,
    # and subtracted from the trials at the end.
    q = lax.select(is_rare, p, 1.0 - p)
    n_is_bad = lax.bitwise_or(lax.ne(n, n), n < 0)
    n_is_infinite = jnp.isinf(n)
    q_is_nan, q_is_negative = lax.ne(q, q), q < 0
    q = lax.select(lax.bitwise_or(q_is_nan, q_is_negative), lax.full_like(q, _HARMLESS_P), q)
    # With infinitely many trials neither algorithm would terminate.
    n = lax.select(n_is_infinite, lax.full_like(n, _HARMLESS_N), n)
    by_inversion = lax.bitwise_or(n_is_bad, n * q <= _INVERTED_TO)
    trials = lax.floor(n)
    inverted_n = lax.select(by_inversion, trials, lax.full_like(n, 0))
    rejected_n = lax.select(by_inversion, lax.full_like(n, _HARMLESS_N), trials)
    rejected_p = lax.select(by_inversion, lax.full_like(q, _EVEN), q)
    inverted = lax.convert_element_type(_inverted(key, inverted_n, q, dtype), dtype)
    rejected = lax.convert_element_type(_rejected(key, rejected_n, rejected_p, dtype), dtype)
    result = lax.select(by_inversion, inverted, rejected)
    is_bad = lax.bitwise_or(lax.bitwise_or(q_is_negative, q_is_nan), n_is_bad)
    result = lax.select(is_bad, lax.full_like(result, np.nan), result)
    is_infinite = lax.bitwise_and(n_is_infinite, lax.bitwise_not(is_bad))
    never = lax.bitwise_and(is_rare, q == 0)
    endless = lax.select(never, lax.full_like(result, 0), lax.full_like(result, np.inf))
    result = lax.select(is_infinite, endless, result)
    stays = lax.bitwise_or(lax.bitwise_or(is_rare, n_is_bad), q_is_nan)
    stays = lax.bitwise_or(stays, n_is_infinite)
    return lax.select(stays, result, lax.convert_element_type(trials, dtype) - result)


def _parameters(n: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
    """Both parameters as arrays of the dtype of the probabilities."""
    n, p = jnp.asarray(n), jnp.asarray(p)
    dtype = ir.result_type(float, p)
    return lax.convert_element_type(n, dtype), lax.convert_element_type(p, dtype)


@partial(staged, inline=True)
def _binomial(key: Array, n: ArrayLike, p: ArrayLike, *, shape: Shape, dtype: np.dtype) -> Array:
    n, p = _parameters(n, p)
    return binomial_of(key, parameters.to_shape(n, shape), parameters.to_shape(p, shape), dtype)


def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Numbers of the binomial distribution: the successes in ``n`` trials of probability ``p``.

    Args:
      key, dtype: as for ``uniform``.
      n: the number of trials, a scalar or array of numbers ≥ 0 that broadcasts to ``shape``.
      p: the probability of a success, likewise; samples are computed in its dtype.
      shape: the result's shape; by default the one that the parameters broadcast to.

    Returns:
      An array of floats with integer values; NaN where ``n`` or ``p`` is negative or NaN.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if ``dtype`` is not a float dtype, or the parameters do not broadcast.

    Example:
      >>> from ricci import random
      >>> random.binomial(random.key(0), 10, 0.3, (2,)).shape
      (2,)

    Source: for small means, Kachitvichyanukul and Schmeiser, "Binomial random variate
    generation", 1988; for others, Hörmann, "The generation of binomial random variates", 1993.
    """
    key = check_key(key, "binomial")
    result_dtype = parameters.float_dtype("binomial", dtype)
    sizes = parameters.sampled_shape("binomial", shape, n, p)
    return _binomial(key, n, p, shape=sizes, dtype=result_dtype)


@partial(staged, inline=True)
def _multinomial(
    key: Array, n: ArrayLike, p: ArrayLike, *, shape: Shape, dtype: np.dtype, unroll: int | bool
) -> Array:
    n, p = _parameters(n, p)
    n, p = parameters.to_shape(n, shape[:-1]), parameters.to_shape(p, shape)
    # Each category in turn gets a binomial part of the remaining draws. Its probability
    # is the category's share of the remaining probability.
    p = jnp.moveaxis(p, -1, 0)
    remaining_p = lax.cumsum(p, 0, reverse=True)
    p = p / jnp.where(remaining_p == 0, 1, remaining_p)
    keys = random_split_p.bind(key, shape=(shape[-1],))

    def draw(remaining, each):
        p, key = each
        count = binomial_of(key, remaining, jnp.clip(p, 0, 1), remaining.dtype)
        return remaining - count, count

    _, counts = lax.scan(draw, n, (p, keys), unroll=unroll)
    counts = jnp.moveaxis(counts, 0, -1)
    return lax.convert_element_type(counts, dtype)


def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Counts of the multinomial distribution: how often ``n`` draws hit each category.

    Args:
      key: as for ``uniform``.
      n: the number of draws, of a shape that broadcasts to ``shape`` without its last dimension.
      p: the probability of each category, of shape ``(..., k)`` that broadcasts to ``shape``.
      shape: the result's shape, the categories last; by default the one that ``p`` and ``n``
        broadcast to.
      dtype: the result's dtype, by default the default one for floats.
      unroll: as for ``lax.scan``, which runs over the categories.

    Returns:
      An array of shape ``(*shape, k)``, for ``k`` categories; the last dimension sums up to ``n``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if ``p`` is a scalar, or the parameters do not broadcast to ``shape``.

    Example:
      >>> import numpy as np
      >>> from ricci import random
      >>> float(random.multinomial(random.key(0), 10, np.array([0.2, 0.3, 0.5])).sum())
      10.0
    """
    key = check_key(key, "multinomial")
    result_dtype = ir.explicit_dtype(float if dtype is None else dtype, "multinomial")
    n_shape, p_shape = type_of(n).shape, type_of(p).shape
    if not p_shape:
        raise ValueError(
            "multinomial: p must be a vector of probabilities or an array of them, got a scalar."
        )
    common = (*parameters.common_shape("multinomial", n_shape, p_shape[:-1]), p_shape[-1])
    sizes = common if shape is None else parameters.as_shape(shape)
    if not parameters.broadcasts_to(common, sizes):
        raise ValueError(
            f"multinomial: n of shape {n_shape} and p of shape {p_shape} broadcast to {common}, "
            f"which does not broadcast to the shape {sizes} of the samples."
        )
    return _multinomial(key, n, p, shape=sizes, dtype=result_dtype, unroll=unroll)
