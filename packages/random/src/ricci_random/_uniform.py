"""Random bits, and the uniform distributions made of them directly."""

from functools import partial
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import explicit_dtype, get_aval, issubdtype, python_scalar_dtype

from ._arguments import as_shape, float_dtype, float_info, placed, sampled_shape, with_rank
from ._keys import check_key
from ._primitives import random_bits_p, random_split_p
from ._staging import staged


def split_pair(key: Any, num: int = 2) -> Any:
    """The keys that a key is split to, inside a sampler."""
    return lax.unstack(random_split_p.bind(key, shape=(num,)))


@partial(staged, inline=True)
def _bits(key, *, shape, dtype):
    return random_bits_p.bind(key, bit_width=dtype.itemsize * 8, shape=shape)


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Random bits: unsigned integers, uniform over all values of the dtype.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: an unsigned integer dtype, by default that of 32 bits (64 with 64-bit dtypes on).
      out_sharding: the result's sharding.

    Raises:
      ValueError: if the dtype is no unsigned integer one.

    Example:
      >>> bits(PRNGKey(0), (2,))
      Array([4070199207, 4202968722], dtype=uint32)
    """
    key = check_key(key, "bits")
    if dtype is None:
        dtype = python_scalar_dtype(int).name.replace("int", "uint")
    found = explicit_dtype(dtype, "bits")
    if not issubdtype(found, np.unsignedinteger):
        raise ValueError(
            f"bits: random bits are kept in an unsigned integer, and dtype={found} is none."
        )
    return placed(_bits(key, shape=as_shape(shape), dtype=found), out_sharding)


def uniform_of(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform numbers, inside a sampler: random mantissas give numbers in [1, 2)."""
    info = float_info(dtype)
    minval = lax.convert_element_type(minval, dtype)
    maxval = lax.convert_element_type(maxval, dtype)
    minval, maxval = with_rank(minval, len(shape)), with_rank(maxval, len(shape))
    mantissa = random_bits_p.bind(key, bit_width=info.random_bits, shape=shape)
    if info.random_bits != info.width:
        mantissa = lax.convert_element_type(mantissa, info.uint)
    unused = np.array(info.random_bits - info.mantissa, info.uint)[()]
    mantissa = lax.shift_right_logical(mantissa, unused)
    number = lax.bitcast_convert_type(
        lax.bitwise_or(mantissa, np.array(info.one).view(info.uint)[()]), dtype
    )
    fraction = lax.sub(number, info.one)
    scaled = lax.add(lax.mul(fraction, lax.sub(maxval, minval)), minval)
    # Rounding may go below minval.
    return lax.max(minval, lax.reshape(scaled, shape))


@staged
def _uniform(key, minval, maxval, *, shape, dtype):
    return uniform_of(key, minval, maxval, shape, dtype)


def _upper_first(key, maxval, minval, *, shape, dtype):
    return uniform_of(key, minval, maxval, shape, dtype)


uniform_upper_first = staged(_upper_first, "_uniform")


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers uniform in [minval, maxval).

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      minval, maxval: bounds, scalars or arrays that broadcast to ``shape``.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``key`` is no key, or shapes do not fit.
      ValueError: if the dtype is no float dtype, or ``key`` an array of keys.

    Example:
      >>> uniform(PRNGKey(0), (2,))
      Array([0.9476..., 0.9785...], dtype=float32)
    """
    key = check_key(key, "uniform")
    dtype = float_dtype("uniform", dtype)
    x = _uniform(key, minval, maxval, shape=as_shape(shape), dtype=dtype)
    return placed(x, out_sharding)


def _limits(*dtypes: Any) -> tuple[int, int]:
    """The least and the greatest integer that all dtypes hold."""
    infos = [np.iinfo(dtype) for dtype in dtypes]
    return max(int(info.min) for info in infos), min(int(info.max) for info in infos)


def _cut(bound: Any, dtype: Any) -> Any:
    """A bound as a number of a dtype, the nearest if the dtype does not hold it."""
    limits: Any = _limits(bound.dtype, dtype)
    if not get_aval(bound).weak_type:  # pyright: ignore[reportAttributeAccessIssue]
        limits = map(bound.dtype.type, limits)
    return lax.convert_element_type(jnp.clip(bound, *limits), dtype)


def _integer(bound: Any) -> Any:
    if issubdtype(bound.dtype, np.integer):
        return bound
    return lax.convert_element_type(bound, python_scalar_dtype(int))


def randint_of(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform integers, inside a sampler: twice as many bits as needed, modulo the span."""
    width = dtype.itemsize * 8
    unsigned = np.dtype(f"uint{width}")
    minval, maxval = _integer(minval), _integer(maxval)
    top = np.array(_limits(dtype)[1], dtype)[()]
    past_top = lax.gt(maxval, _cut(top, maxval.dtype))
    minval, maxval = _cut(minval, dtype), _cut(maxval, dtype)
    minval, maxval = with_rank(minval, len(shape)), with_rank(maxval, len(shape))
    upper, lower = (random_bits_p.bind(k, bit_width=width, shape=shape) for k in split_pair(key))
    one = unsigned.type(1)
    span = lax.convert_element_type(lax.sub(maxval, minval), unsigned)
    span = lax.select(lax.le(maxval, minval), lax.full_like(span, one), span)
    # A bound past the dtype's largest number was cut to it, which would leave that number out.
    whole = lax.bitwise_and(past_top, lax.gt(maxval, minval))
    span = lax.select(whole, lax.add(span, one), span)
    factor = lax.rem(unsigned.type(2 ** (width // 2)), span)
    factor = lax.rem(lax.mul(factor, factor), span)
    offset = lax.add(lax.mul(lax.rem(upper, span), factor), lax.rem(lower, span))
    offset = lax.rem(offset, span)
    return lax.add(minval, lax.convert_element_type(offset, dtype))


@staged
def _randint(key, minval, maxval, *, shape, dtype):
    return randint_of(key, minval, maxval, shape, dtype)


def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Integers uniform in [minval, maxval).

    Args:
      key: one key.
      shape: the result's shape.
      minval, maxval: bounds, integer scalars or arrays that broadcast to ``shape``; where
        ``maxval`` is not greater, ``minval`` is returned.
      dtype: an integer dtype, by default the default one.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if the dtype is no integer one, ``key`` no key, or shapes do not fit.
      OverflowError: if a bound is a Python integer that the default dtype does not hold.

    Example:
      >>> randint(PRNGKey(0), (3,), 0, 10)
      Array([9, 0, 2], dtype=int32)
    """
    key = check_key(key, "randint")
    found = explicit_dtype(int if dtype is None else dtype, "randint")
    if not issubdtype(found, np.integer):
        raise TypeError(
            f"randint: samples are integers, and dtype={found} is of another kind. For floats use "
            "uniform."
        )
    sizes = sampled_shape("randint", as_shape(shape), minval, maxval)
    if found.itemsize >= 4:
        return placed(_randint(key, minval, maxval, shape=sizes, dtype=found), out_sharding)
    low, high = _limits(found)
    wide = np.dtype("int32")
    minval = jnp.clip(_converted(minval, wide), min=low, max=high)
    maxval = jnp.clip(_converted(maxval, wide), min=low, max=high + 1)
    wide = _randint(key, minval, maxval, shape=sizes, dtype=wide)
    return placed(lax.convert_element_type(wide, found), out_sharding)


def _converted(bound: Any, dtype: Any) -> Any:
    return dtype.type(bound) if isinstance(bound, int) else lax.convert_element_type(bound, dtype)


@staged
def _bernoulli(key, p, *, shape, mode):
    dtype = get_aval(p).dtype  # pyright: ignore[reportAttributeAccessIssue]
    if mode == "low":
        return jnp.less(_uniform(key, 0.0, 1.0, shape=shape, dtype=dtype), p)
    both = _uniform(key, 0.0, 1.0, shape=(2, *shape), dtype=dtype)
    coarse, fine = lax.unstack(both)
    return jnp.less(lax.mul(fine, float_info(dtype).eps), jnp.subtract(p, coarse))


def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """Booleans that are true with probability ``p``.

    Args:
      key: one key.
      p: the probability, a float scalar or array.
      shape: the result's shape; by default that of ``p``.
      mode: ``"high"`` resolves probabilities smaller than the spacing of random floats, with
        twice the random bits; ``"low"`` does not.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``p`` is no float.
      ValueError: if ``p`` does not broadcast to ``shape``, or the mode is unknown.

    Example:
      >>> bernoulli(PRNGKey(0), 0.3, (3,))
      Array([False, False, False], dtype=bool)
    """
    key = check_key(key, "bernoulli")
    if mode not in ("high", "low"):
        raise ValueError(f"bernoulli: mode={mode!r} is unknown; it is 'high' or 'low'.")
    dtype = get_aval(p).dtype  # pyright: ignore[reportAttributeAccessIssue]
    if not issubdtype(dtype, np.floating):
        raise TypeError(
            f"bernoulli: p is a probability, so its dtype must be a float, not {dtype}."
        )
    sizes = sampled_shape("bernoulli", shape, p)
    if isinstance(p, float):
        p = dtype.type(p)
    return placed(_bernoulli(key, p, shape=sizes, mode=mode), out_sharding)


@staged
def _rademacher(key, *, shape, dtype):
    heads = _bernoulli(key, 0.5, shape=shape, mode="low")
    heads = lax.convert_element_type(heads, dtype)
    return lax.sub(lax.mul(np.array(2, dtype)[()], heads), np.array(1, dtype)[()])


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Signs: -1 or 1, equally likely.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: its dtype, by default the default one for integers.
      out_sharding: the result's sharding.

    Example:
      >>> rademacher(PRNGKey(0), (3,))
      Array([-1, -1,  1], dtype=int32)
    """
    key = check_key(key, "rademacher")
    found = explicit_dtype(int if dtype is None else dtype, "rademacher")
    return placed(_rademacher(key, shape=as_shape(shape), dtype=found), out_sharding)
