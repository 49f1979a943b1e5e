"""Choosing among things: Gumbel noise, categories, shuffles and choices."""

from math import prod
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import config, get_aval, issubdtype, result_type
from ricci_ir import dtype as dtype_of
from ricci_lax.authoring import canonical_axis

from ._arguments import as_shape, fits, float_dtype, float_info, placed
from ._keys import check_key, is_key
from ._primitives import random_bits_p
from ._staging import staged
from ._uniform import _randint, _uniform, split_pair, uniform_upper_first


@staged
def _gumbel(key, *, shape, dtype, mode):
    info = float_info(dtype)
    if mode == "low":
        u = uniform_upper_first(key, 1.0, info.tiny, shape=shape, dtype=dtype)
        return lax.neg(lax.log(lax.neg(lax.log(u))))
    # A second uniform number gives the bits below the first one's spacing where they matter.
    both = uniform_upper_first(key, 1.0, 0.0, shape=(2, *shape), dtype=dtype)
    coarse, fine = lax.unstack(both)
    near_one = lax.ge(coarse, info(0.5))
    least = max(float(info.eps) ** 2 / 2, float(info.tiny))  # in float16 the former is subnormal
    offset = lax.add(lax.add(coarse, lax.mul(info.eps, fine)), info(least))
    u = jnp.where(near_one, coarse, offset)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(u)))))


def _gumbel_mode(mode: str | None) -> str:
    if mode is None:
        return "high" if config.jax_high_dynamic_range_gumbel else "low"
    if mode not in ("high", "low"):
        raise ValueError(f"gumbel: mode={mode!r} is unknown; it is 'high' or 'low'.")
    return mode


def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers of the Gumbel distribution, whose cumulative function is exp(-exp(-x)).

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      mode: ``"high"`` reaches further into the tails, with twice the random bits, ``"low"`` does
        not; by default the option ``jax_high_dynamic_range_gumbel`` decides.
      out_sharding: the result's sharding.

    Raises:
      ValueError: if the mode is unknown, or the dtype no float dtype.

    Example:
      >>> gumbel(PRNGKey(0), (2,)).shape
      (2,)
    """
    key = check_key(key, "gumbel")
    mode = _gumbel_mode(mode)
    dtype = float_dtype("gumbel", dtype)
    return placed(_gumbel(key, shape=as_shape(shape), dtype=dtype, mode=mode), out_sharding)


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Categories drawn with probabilities proportional to ``exp(logits)``.

    Args:
      key: one key.
      logits: unnormalized log-probabilities, of any shape.
      axis: the axis of the categories.
      shape: the result's shape, which must end with that of ``logits`` without ``axis``; by
        default just that.
      replace: whether the leading dimensions of the result are drawn independently; otherwise
        no category comes twice.
      mode: as for ``gumbel``.
      out_sharding: the result's sharding.

    Returns:
      An array of indices along ``axis``.

    Raises:
      ValueError: if the shapes do not fit, or more are to be drawn without replacement than
        there are categories.

    Example:
      >>> categorical(PRNGKey(0), np.log(np.array([0.1, 0.9])), shape=(3,)).shape
      (3,)

    Source: the Gumbel-max trick (Gumbel 1954), without replacement: Kool, van Hoof and Welling,
    "Stochastic beams and where to find them", 2019.
    """
    key = check_key(key, "categorical")
    mode = _gumbel_mode(mode)
    logits = jnp.asarray(logits)
    if not issubdtype(logits.dtype, np.floating):
        logits = lax.convert_element_type(logits, result_type(float, logits))
    if not -logits.ndim <= axis < logits.ndim:
        raise IndexError(
            f"categorical: axis {axis} is out of bounds for logits of shape {logits.shape}"
        )
    axis %= logits.ndim
    batch = logits.shape[:axis] + logits.shape[axis + 1 :]
    sizes = batch if shape is None else as_shape(shape)
    if not fits(batch, sizes):
        raise ValueError(
            f"categorical: the shape {sizes} does not hold samples for logits with batch "
            f"dimensions {batch}: it must end with these."
        )
    extra = sizes[: len(sizes) - len(batch)]
    if replace:
        # The categories stay at their place, counted from the end.
        back = axis - logits.ndim
        full = (
            *sizes[: len(sizes) + 1 + back],
            logits.shape[axis],
            *sizes[len(sizes) + 1 + back :],
        )
        noise = _gumbel(key, shape=full, dtype=logits.dtype, mode=mode)
        if extra:
            logits = lax.expand_dims(logits, tuple(range(len(extra))))
        index = jnp.argmax(lax.add(noise, logits), axis=back)
        return placed(index, out_sharding)
    noise = _gumbel(key, shape=logits.shape, dtype=logits.dtype, mode=mode)
    count = prod(extra)
    if count > logits.shape[axis]:
        raise ValueError(
            f"categorical: {count} different categories were asked for, out of "
            f"{logits.shape[axis]}. Ask for fewer, or pass replace=True."
        )
    _, index = lax.top_k(lax.add(logits, noise), count, axis=axis)
    order = (axis, *(d for d in range(logits.ndim) if d != axis))
    return placed(lax.reshape(index, sizes, order), out_sharding)


@staged
def _shuffle(key, x, *, axis):
    # Sorting by random numbers is uniform as long as none are equal: with three times as many
    # random bits as the positions need, the chance of that is small.
    rounds = int(np.ceil(3 * np.log(max(1, x.size)) / np.log(2**32 - 1)))
    for _ in range(rounds):
        key, subkey = split_pair(key)
        order = random_bits_p.bind(subkey, bit_width=32, shape=x.shape)
        _, x = lax.sort_key_val(order, x, dimension=axis)
    return x


def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """An array in random order along an axis, or random integers from 0 to ``x``.

    Args:
      key: one key.
      x: an array, or an integer ``n`` for ``arange(n)``.
      axis: the axis that is shuffled.
      independent: whether each vector along the axis gets an order of its own.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``x`` is a scalar but no integer.
      ValueError: if the array has no such axis.

    Example:
      >>> permutation(PRNGKey(0), 5)
      Array([0, 1, 4, 3, 2], dtype=int32)
    """
    key = check_key(key, "permutation")
    aval: Any = get_aval(x)
    axis = canonical_axis(axis, max(aval.ndim, 1))
    if not aval.ndim:
        if not issubdtype(aval.dtype, np.integer):
            raise TypeError(
                "permutation: x is a scalar that is no integer. Give a whole number n, to permute "
                "arange(n), or an array."
            )
        count = max(x.__index__(), 0)
        indices = lax.iota(dtype_of(int), count)
        return placed(_shuffle(key, indices, axis=0), out_sharding)
    if not is_key(x) and (independent or aval.ndim == 1):
        return placed(_shuffle(key, x, axis=axis), out_sharding)
    indices = _shuffle(key, lax.iota(dtype_of(int), aval.shape[axis]), axis=0)
    return placed(_take(x, indices, axis, unique=True), out_sharding)


def _take(x: Any, indices: Any, axis: int, unique: bool) -> Any:
    if is_key(x):
        return x[(slice(None),) * axis + (indices,)]
    return jnp.take(x, indices, axis=axis, unique_indices=unique)


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Elements of an array drawn at random, or integers from 0 to ``a``.

    Args:
      key: one key.
      a: an array, or an integer ``n`` for ``arange(n)``.
      shape: the shape of the draws, which takes the place of ``axis`` in the result.
      replace: whether an element may be drawn more than once.
      p: the probability of each element, by default all equal.
      axis: the axis of the elements.
      mode: as for ``gumbel``; used where draws without replacement have probabilities.

    Raises:
      ValueError: if there is nothing to draw from, more are to be drawn without replacement than
        there are, or ``p`` is of another length.

    Example:
      >>> choice(PRNGKey(0), 5, (3,), replace=False)
      Array([0, 1, 4], dtype=int32)

    Source: numpy.random.Generator.choice.
    """
    key = check_key(key, "choice")
    sizes = as_shape(shape)
    aval: Any = get_aval(a)
    if not aval.ndim:
        a = int(a)
        n_inputs, is_range = a, True
        axis = 0
    else:
        axis = canonical_axis(axis, aval.ndim)
        n_inputs, is_range = aval.shape[axis], False
    n_draws = prod(sizes)
    if n_draws == 0:
        if is_range:
            return lax.full(sizes, 0, dtype_of(int))
        return lax.full((*aval.shape[:axis], *sizes, *aval.shape[axis + 1 :]), 0, aval.dtype)
    if n_inputs <= 0:
        raise ValueError("choice: a is empty, so nothing can be drawn from it.")
    if not replace and n_draws > n_inputs:
        raise ValueError(
            f"choice: {n_draws} different samples were asked for, out of {n_inputs}. Ask for "
            "fewer, or pass replace=True."
        )
    if p is None and not replace:
        drawn = permutation(key, a, axis)
        rest = drawn.shape
        stop = (*rest[:axis], n_draws, *rest[axis + 1 :])
        drawn = lax.slice(drawn, (0,) * len(rest), stop)
        return lax.reshape(drawn, (*rest[:axis], *sizes, *rest[axis + 1 :]))
    if p is None:
        indices = _randint(key, 0, n_inputs, shape=sizes, dtype=dtype_of(int))
        return indices if is_range else _take(a, indices, axis, unique=False)
    indices = _draw(key, p, sizes, n_inputs, n_draws, replace, mode)
    return indices if is_range else _take(a, indices, axis, unique=not replace)


def _draw(key, p, sizes, n_inputs, n_draws, replace, mode) -> Any:
    """Indices drawn with probabilities ``p``."""
    p = jnp.asarray(p)
    if not issubdtype(p.dtype, np.floating):
        p = lax.convert_element_type(p, result_type(float, p))
    if p.shape != (n_inputs,):
        raise ValueError(
            f"choice: p of shape {p.shape} must be a vector of {n_inputs} probabilities, one for "
            "each entry of a along axis."
        )
    if replace:
        total = jnp.cumsum(p)
        last = lax.squeeze(lax.slice_in_dim(total, n_inputs - 1, n_inputs), (0,))
        u = _uniform(key, 0.0, 1.0, shape=sizes, dtype=p.dtype)
        points = lax.mul(last, lax.sub(float_info(p.dtype).one, u))
        return lax.convert_element_type(jnp.searchsorted(total, points), dtype_of(int))
    noise = _gumbel(key, shape=(n_inputs,), dtype=p.dtype, mode=_gumbel_mode(mode))
    _, indices = lax.top_k(lax.add(noise, lax.log(p)), n_draws)
    return lax.reshape(lax.convert_element_type(indices, dtype_of(int)), sizes)
