"""The Poisson distribution: Knuth's method for small rates, Hörmann's for others."""

from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import explicit_dtype, issubdtype

from ._arguments import placed, sampled_shape, to_shape
from ._keys import check_key, generator_of
from ._poisson_approximate import poisson_approximate
from ._staging import staged
from ._uniform import _uniform, split_pair

_FLOAT = np.dtype("float32")
_REJECTED_FROM = 10.0  # the least rate for which Hörmann's method holds
_HARMLESS_RATE = 100_000.0  # given to his loop for the elements that it is not for


def _within(iteration: Any, dtype: np.dtype) -> Any:
    """Whether a loop has not yet run as often as the result's dtype can count."""
    return lax.convert_element_type(iteration, dtype) < np.asarray(np.iinfo(dtype).max, dtype)


@staged
def _poisson_knuth(key, lam, *, shape, dtype):
    """Counts the uniform numbers whose product is still above exp(-lam)."""

    def goes_on(state):
        iteration, _, _, log_product = state
        return lax.bitwise_and(jnp.any(log_product > -lam), _within(iteration, dtype))

    def multiply(state):
        iteration, count, key, log_product = state
        key, uniform_key = split_pair(key)
        count = lax.select(log_product > -lam, count + 1, count)
        u = _uniform(uniform_key, 0.0, 1.0, shape=shape, dtype=_FLOAT)
        return iteration + 1, count, key, log_product + lax.log(u)

    start = (0, lax.full_like(lam, 0, dtype, shape), key, lax.full_like(lam, 0, _FLOAT, shape))
    return lax.while_loop(goes_on, multiply, start)[1] - 1


@staged
def _poisson_rejection(key, lam, *, shape, dtype):
    """Hörmann's PTRS: a transformed uniform number is accepted at once, or by the exact ratio."""
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_always = 0.9277 - 3.6224 / (b - 2)

    def goes_on(state):
        iteration, _, is_accepted, _ = state
        return lax.bitwise_and(jnp.any(lax.bitwise_not(is_accepted)), _within(iteration, dtype))

    def propose(state):
        iteration, result, is_accepted, key = state
        key, u_key, v_key = split_pair(key, 3)
        u = _uniform(u_key, 0.0, 1.0, shape=shape, dtype=_FLOAT) - 0.5
        v = _uniform(v_key, 0.0, 1.0, shape=shape, dtype=_FLOAT)
        edge = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / edge + b) * u + lam + 0.43)
        log_ratio = lax.log(v * inverse_alpha / (a / (edge * edge) + b))
        log_density = -lam + k * log_lam - lax.lgamma(k + 1)
        at_once = lax.bitwise_and(edge >= 0.07, v <= v_always)
        never = lax.bitwise_or(k < 0, lax.bitwise_and(edge < 0.013, v > edge))
        by_ratio = lax.bitwise_and(lax.bitwise_not(never), log_ratio <= log_density)
        accepts = lax.bitwise_or(at_once, by_ratio)
        result = lax.select(accepts, k, result)
        return iteration + 1, result, lax.bitwise_or(is_accepted, accepts), key

    start = (0, lax.full_like(lam, -1, _FLOAT, shape), lax.full_like(lam, False, np.bool_), key)
    return lax.convert_element_type(lax.while_loop(goes_on, propose, start)[1], dtype)


@staged
def _poisson(key, lam, *, shape, dtype):
    is_small = lax.bitwise_or(lax.ne(lam, lam), lam < _REJECTED_FROM)
    small = lax.select(is_small, lam, lax.full_like(lam, 0.0))
    large = lax.select(is_small, lax.full_like(lam, _HARMLESS_RATE), lam)
    counted = _poisson_knuth(key, small, shape=shape, dtype=dtype)
    accepted = _poisson_rejection(key, large, shape=shape, dtype=dtype)
    result = lax.select(is_small, counted, accepted)
    return lax.select(lam == 0, lax.full_like(result, 0), result)


@staged
def _poisson_approx(key, lam, *, shape, dtype):
    return poisson_approximate(key, lam, shape, dtype)


def poisson(
    key: Any,
    lam: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers of the Poisson distribution: how many events there are where ``lam`` are expected.

    Args:
      key: one key, of the generator threefry2x32 if the method is ``"exact"``.
      lam: the rate, a scalar or array of numbers ≥ 0 that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``lam``.
      dtype: an integer dtype, by default the default one.
      method: ``"exact"``, or ``"approximate"``, which needs no loop.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``key`` is no key.
      ValueError: if the method is unknown, the dtype no integer one, or ``lam`` does not broadcast
        to ``shape``.
      NotImplementedError: if the key is of another generator, and the method ``"exact"``.

    Example:
      >>> poisson(PRNGKey(0), 3.0, (3,)).shape
      (3,)

    Source: Knuth, The Art of Computer Programming, volume 2, 3.4.1; Hörmann, "The transformed
    rejection method for generating Poisson random variables", 1993.
    """
    key = check_key(key, "poisson")
    found = explicit_dtype(int if dtype is None else dtype, "poisson")
    if not issubdtype(found, np.integer):
        raise ValueError(f"poisson: samples are integers, and dtype={found} is of another kind.")
    if method not in ("exact", "approximate"):
        raise ValueError(f"poisson: method={method!r} is unknown; it is 'exact' or 'approximate'.")
    impl = generator_of(key).name
    if method == "exact" and impl != "threefry2x32":
        raise NotImplementedError(
            f"poisson: method='exact' takes keys of threefry2x32, and this is one of {impl}. Make "
            "the key with impl='threefry2x32', or pass method='approximate'."
        )
    lam = jnp.asarray(lam)
    sizes = sampled_shape("poisson", shape, lam)
    if method == "approximate":
        return placed(_poisson_approx(key, lam, shape=sizes, dtype=found), out_sharding)
    lam = lax.convert_element_type(to_shape(lam, sizes), _FLOAT)
    return placed(_poisson(key, lam, shape=sizes, dtype=found), out_sharding)
