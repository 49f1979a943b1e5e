"""The binomial distribution, by two methods, and the multinomial one that is made of it."""

from functools import partial
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import explicit_dtype, get_aval, result_type

from ._arguments import (
    as_shape,
    common_shape,
    fits,
    float_dtype,
    float_info,
    sampled_shape,
    to_shape,
)
from ._keys import check_key
from ._primitives import random_split_p
from ._staging import staged
from ._uniform import _uniform, split_pair

# Numbers that are harmless to the method that an element is not drawn by.
_HARMLESS_P, _HARMLESS_N, _EVEN = 0.01, 10_000.0, 0.5
_INVERTED_TO = 10.0  # the largest mean for which waiting times are added up
# log(k!) less Stirling's formula for it, (k + 1/2) log(k + 1) - (k + 1) + log(2 π) / 2.
_STIRLING_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: Any) -> Any:
    greatest = len(_STIRLING_TAILS) - 1
    table = jnp.asarray(np.array(_STIRLING_TAILS, k.dtype))
    is_tabulated = k <= greatest
    # The series, too, is evaluated at no more than the table's end: for large numbers that is
    # not quite Stirling's tail, but it is what JAX's samples are accepted by.
    k = lax.clamp(float_info(k.dtype)(0), k, float_info(k.dtype)(greatest))
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    index = lax.convert_element_type(lax.floor(k), np.int32)
    return lax.select(is_tabulated, table.at[index].get(mode="promise_in_bounds"), series)


def _may_run_again(iteration: Any, dtype: np.dtype) -> Any:
    return lax.convert_element_type(iteration, dtype) < float_info(dtype).largest


def _inverted(key: Any, n: Any, p: Any, dtype: np.dtype) -> Any:
    """How many waiting times between successes fit into ``n`` trials."""
    log_failure = lax.log1p(-p)

    def goes_on(state):
        iteration, _, trials, _ = state
        return lax.bitwise_and(jnp.any(trials <= n), _may_run_again(iteration, dtype))

    def wait(state):
        iteration, count, trials, key = state
        uniform_key, key = split_pair(key)
        count = lax.select(trials <= n, count + 1, count)
        u = _uniform(uniform_key, 0.0, 1.0, shape=n.shape, dtype=n.dtype)
        return iteration + 1, count, trials + lax.ceil(lax.log(u) / log_failure), key

    start = (0, lax.full_like(n, 0), lax.full_like(n, 0), key)
    return lax.while_loop(goes_on, wait, start)[1] - 1


def _rejected(key: Any, n: Any, p: Any, dtype: np.dtype) -> Any:
    """BTRS: a transformed uniform number is accepted at once, or by the exact ratio."""
    spread = lax.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_always = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * spread
    m = lax.floor((n + 1) * p)

    def log_density(k):
        """The logarithm of the probability of ``k`` over that of the mode ``m``."""
        bound = (m + 0.5) * lax.log((m + 1.0) / (odds * (n - m + 1.0)))
        bound = bound + (n + 1.0) * lax.log((n - m + 1.0) / (n - k + 1.0))
        bound = bound + (k + 0.5) * lax.log(odds * (n - k + 1.0) / (k + 1.0))
        bound = bound + _stirling_tail(m) + _stirling_tail(n - m)
        return bound - _stirling_tail(k) - _stirling_tail(n - k)

    def goes_on(state):
        iteration, _, is_accepted, _ = state
        return lax.bitwise_and(
            jnp.any(lax.bitwise_not(is_accepted)), _may_run_again(iteration, dtype)
        )

    def propose(state):
        iteration, result, is_accepted, key = state
        key, u_key, v_key = split_pair(key, 3)
        u = _uniform(u_key, 0.0, 1.0, shape=n.shape, dtype=n.dtype)
        v = _uniform(v_key, 0.0, 1.0, shape=n.shape, dtype=n.dtype)
        u = u - 0.5
        edge = 0.5 - lax.abs(u)
        at_once = lax.bitwise_and(edge >= 0.07, v <= v_always)
        k = lax.floor((2 * a / edge + b) * u + c)
        never = lax.bitwise_or(k < 0, k > n)
        log_ratio = lax.log(v * alpha / (a / (edge * edge) + b))
        by_ratio = lax.bitwise_and(lax.bitwise_not(never), log_ratio <= log_density(k))
        accepts = lax.bitwise_or(at_once, by_ratio)
        result = lax.select(accepts, k, result)
        return iteration + 1, result, lax.bitwise_or(is_accepted, accepts), key

    start = (0, lax.full_like(n, -1), lax.full_like(n, False, np.bool_), key)
    return lax.while_loop(goes_on, propose, start)[1]


def binomial_of(key: Any, n: Any, p: Any, dtype: np.dtype) -> Any:
    """Numbers of the binomial distribution, inside a sampler; ``n`` and ``p`` of one type."""
    is_rare = p < 0.5
    q = lax.select(is_rare, p, 1.0 - p)  # what is counted is the rarer outcome
    n_is_bad = lax.bitwise_or(lax.ne(n, n), n < 0)
    n_is_infinite = jnp.isinf(n)
    q_is_nan, q_is_negative = lax.ne(q, q), q < 0
    q = lax.select(lax.bitwise_or(q_is_nan, q_is_negative), lax.full_like(q, _HARMLESS_P), q)
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
    result = lax.select(is_infinite, lax.full_like(result, np.inf), result)
    stays = lax.bitwise_or(lax.bitwise_or(is_rare, n_is_bad), q_is_nan)
    stays = lax.bitwise_or(stays, n_is_infinite)
    return lax.select(stays, result, lax.convert_element_type(trials, dtype) - result)


def _parameters(n: Any, p: Any) -> tuple[Any, Any]:
    """Both parameters as arrays of the dtype that probabilities have."""
    n, p = jnp.asarray(n), jnp.asarray(p)
    dtype = result_type(float, p)
    return lax.convert_element_type(n, dtype), lax.convert_element_type(p, dtype)


@partial(staged, inline=True)
def _binomial(key, n, p, *, shape, dtype):
    n, p = _parameters(n, p)
    return binomial_of(key, to_shape(n, shape), to_shape(p, shape), dtype)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers of the binomial distribution: the successes in ``n`` trials of probability ``p``.

    Args:
      key: one key.
      n: how many trials, a scalar or array of numbers ≥ 0 that broadcasts to ``shape``.
      p: the probability of a success, likewise; its dtype is the one that is computed in.
      shape: the result's shape; by default the one that the parameters broadcast to.
      dtype: a float dtype, by default the default one.

    Returns:
      An array of floats that are integers; nan where a parameter is none that is allowed.

    Raises:
      TypeError: if ``key`` is no key.
      ValueError: if the dtype is no float dtype, or the parameters do not broadcast to ``shape``.

    Example:
      >>> binomial(PRNGKey(0), 10, 0.3, (2,)).shape
      (2,)

    Source: for small means, Kachitvichyanukul and Schmeiser, "Binomial random variate
    generation", 1988; for others, Hörmann, "The generation of binomial random variates", 1993.
    """
    key = check_key(key, "binomial")
    found = float_dtype("binomial", dtype)
    sizes = sampled_shape("binomial", shape, n, p)
    return _binomial(key, n, p, shape=sizes, dtype=found)


@partial(staged, inline=True)
def _multinomial(key, n, p, *, shape, dtype, unroll):
    n, p = _parameters(n, p)
    n, p = to_shape(n, shape[:-1]), to_shape(p, shape)
    p = jnp.moveaxis(p, -1, 0)
    rest = lax.cumsum(p, 0, reverse=True)
    p = p / jnp.where(rest == 0, 1, rest)
    keys = random_split_p.bind(key, shape=(shape[-1],))

    def draw(remaining, each):
        p, key = each
        count = binomial_of(key, remaining, jnp.clip(p, 0, 1), remaining.dtype)
        return remaining - count, count

    _, counts = lax.scan(draw, n, (p, keys), unroll=unroll)
    counts = jnp.moveaxis(counts, 0, -1)
    return lax.convert_element_type(counts, dtype)


def multinomial(
    key: Any,
    n: Any,
    p: Any,
    *,
    shape: Any = None,
    dtype: Any = None,
    unroll: int | bool = 1,
) -> Any:
    """Counts of the multinomial distribution: how ``n`` things fall into categories.

    Args:
      key: one key.
      n: how many things, of a shape that broadcasts to ``shape`` without its last dimension.
      p: the probability of each category, of shape ``(..., k)`` that broadcasts to ``shape``.
      shape: the result's shape, the categories last; by default the one that ``p`` and ``n``
        broadcast to.
      dtype: the result's dtype, by default the default one for floats.
      unroll: as for ``lax.scan``, which runs over the categories.

    Raises:
      TypeError: if ``key`` is no key.
      ValueError: if ``p`` is a scalar, or the parameters do not broadcast to ``shape``.

    Example:
      >>> float(multinomial(PRNGKey(0), 10, np.array([0.2, 0.3, 0.5])).sum())
      10.0

    Source: each category in turn has a binomial number of what the ones before left.
    """
    key = check_key(key, "multinomial")
    found = explicit_dtype(float if dtype is None else dtype, "multinomial")
    n_shape, p_shape = get_aval(n).shape, get_aval(p).shape  # pyright: ignore
    if not p_shape:
        raise ValueError(
            "multinomial: p must be a vector of probabilities or an array of them, got a scalar."
        )
    common = (*common_shape("multinomial", n_shape, p_shape[:-1]), p_shape[-1])
    sizes = common if shape is None else as_shape(shape)
    if not fits(common, sizes):
        raise ValueError(
            f"multinomial: the shape {sizes} does not hold samples for n of shape {n_shape} and p "
            f"of shape {p_shape}: give one that {common} broadcasts to."
        )
    return _multinomial(key, n, p, shape=sizes, dtype=found, unroll=unroll)
