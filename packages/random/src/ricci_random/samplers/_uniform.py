"""Random bits and uniform distributions: floats, integers, booleans and signs."""

from functools import partial
from typing import Any, Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import with_out_sharding
from ricci_numpy.authoring import check_choice
from ricci_random.keys._key_arguments import check_key, staged
from ricci_random.keys._primitives import random_bits_p, subkeys, type_of

from ._native_draws import lower_uniform
from ._parameters import Sharding, as_shape, float_dtype, float_info, sampled_shape, with_rank

__all__ = ["bernoulli", "bits", "rademacher", "randint", "uniform"]


@partial(staged, inline=True)
def _bits(key: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    return random_bits_p.bind(key, bit_width=dtype.itemsize * 8, shape=shape)


def bits(
    key: ir.ArrayLike,
    shape: ir.ShapeLike = (),
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Random bits: unsigned integers, uniform over all values of the dtype.

    Args:
      key, shape, out_sharding: as for ``uniform``.
      dtype: an unsigned integer dtype, by default uint32 (uint64 if 64-bit dtypes are on).

    Returns:
      An array of shape ``shape``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the dtype is not an unsigned integer dtype.

    Example:
      >>> from ricci import random
      >>> random.bits(random.key(0), (2,))
      Array([4070199207, 4202968722], dtype=uint32)

    See also:
      `randint`: integers in a range.
    """
    key = check_key(key, "bits")
    if dtype is None:
        dtype = ir.python_scalar_dtype(int).name.replace("int", "uint")
    result_dtype = ir.explicit_dtype(dtype, "bits")
    if not ir.issubdtype(result_dtype, np.unsignedinteger):
        raise ValueError(
            f"bits: random bits have an unsigned integer dtype, got dtype={result_dtype}."
        )
    return with_out_sharding(_bits(key, shape=as_shape(shape), dtype=result_dtype), out_sharding)


def uniform_of(
    key: ir.Array, minval: ir.ArrayLike, maxval: ir.ArrayLike, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:
    """Draw uniform numbers, inside a sampler.

    Random bits become the mantissa of a number in [1, 2), which is shifted and scaled. The results
    are equally spaced, one for each value of the mantissa.
    """
    info = float_info(dtype)
    minval = lax.convert_element_type(minval, dtype)
    maxval = lax.convert_element_type(maxval, dtype)
    minval, maxval = with_rank(minval, len(shape)), with_rank(maxval, len(shape))
    mantissa = random_bits_p.bind(key, bit_width=info.random_bits, shape=shape)
    if info.random_bits != info.width:
        mantissa = lax.convert_element_type(mantissa, info.uint)
    # The highest bits fill the mantissa; those of 1.0 are the exponent of all numbers in [1, 2).
    unused = ir.exact_scalar(info.random_bits - info.mantissa, info.uint)
    mantissa = lax.shift_right_logical(mantissa, unused)
    number = lax.bitcast_convert_type(
        lax.bitwise_or(mantissa, ir.exact_scalar(np.array(info.one).view(info.uint), info.uint)),
        dtype,
    )
    fraction = lax.sub(number, info.one)
    scaled = lax.add(lax.mul(fraction, lax.sub(maxval, minval)), minval)
    # Rounding may go below minval.
    return lax.max(minval, lax.reshape(scaled, shape))


@partial(staged, lower=lower_uniform)
def _uniform(
    key: ir.Array, minval: ir.ArrayLike, maxval: ir.ArrayLike, *, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:
    return uniform_of(key, minval, maxval, shape, dtype)


def _upper_first(
    key: ir.Array, maxval: ir.ArrayLike, minval: ir.ArrayLike, *, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:
    return uniform_of(key, minval, maxval, shape, dtype)


# The same with the upper bound first, for samplers whose jaxprs have it first in JAX.
uniform_upper_first = staged(_upper_first, "_uniform")


def uniform(
    key: ir.ArrayLike,
    shape: ir.ShapeLike = (),
    dtype: ir.DTypeLike | None = None,
    minval: ir.ArrayLike = 0.0,
    maxval: ir.ArrayLike = 1.0,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers uniform in [minval, maxval).

    Args:
      key: one key, as ``random.key`` or ``random.split`` returns it.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      minval, maxval: bounds, scalars or arrays that broadcast to ``shape``.
      out_sharding: the result's sharding.

    Returns:
      An array of shape ``shape`` and dtype ``dtype``. Rounding may return ``maxval`` itself if the
      span is wide.

    Raises:
      TypeError: if ``key`` is not a key, or shapes are incompatible.
      ValueError: if the dtype is not a float dtype, or ``key`` is an array of keys.

    Example:
      >>> from ricci import random
      >>> random.uniform(random.key(0), (2,))
      Array([0.9476..., 0.9785...], dtype=float32)
      >>> import ricci.numpy as jnp
      >>> low, high = jnp.array([[0.0], [10.0]]), jnp.array([[1.0], [20.0]])
      >>> points = random.uniform(random.key(1), (2, 3), minval=low, maxval=high)
      >>> points.shape, bool((points[1] >= 10).all())
      ((2, 3), True)

    See also:
      `normal`, `randint`.
    """
    key = check_key(key, "uniform")
    result_dtype = float_dtype("uniform", dtype)
    return with_out_sharding(
        _uniform(key, minval, maxval, shape=as_shape(shape), dtype=result_dtype), out_sharding
    )


def _limits(*dtypes: np.dtype) -> tuple[int, int]:
    """The least and the greatest integer that all dtypes hold."""
    infos = [ir.iinfo(dtype) for dtype in dtypes]
    return max(int(info.min) for info in infos), min(int(info.max) for info in infos)


def _clamped(bound: ir.Array, dtype: np.dtype) -> ir.Array:
    """A bound converted to a dtype, as the nearest number if the dtype does not hold it."""
    low, high = _limits(bound.dtype, dtype)
    if not type_of(bound).weak_type:
        low, high = ir.exact_scalar(low, bound.dtype), ir.exact_scalar(high, bound.dtype)
    return lax.convert_element_type(jnp.clip(bound, low, high), dtype)


def _as_integer(bound: ir.Array) -> ir.Array:
    if ir.issubdtype(bound.dtype, np.integer):
        return bound
    return lax.convert_element_type(bound, ir.python_scalar_dtype(int))


@staged
def _randint(
    key: ir.Array, minval: Any, maxval: Any, *, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:  # the bounds may be scalars, which are arrays under tracing
    # The samples are random integers modulo the span, which is nearly uniform if these have many
    # more bits than the span. So two words are drawn, as one integer of twice the width: with the
    # remainders of both words and of the factor 2^width between them, no wider dtype is needed.
    width = dtype.itemsize * 8
    unsigned = np.dtype(f"uint{width}")
    minval, maxval = _as_integer(minval), _as_integer(maxval)
    minval, maxval = with_rank(minval, len(shape)), with_rank(maxval, len(shape))
    top = ir.exact_scalar(_limits(dtype)[1], dtype)
    past_top = lax.gt(maxval, _clamped(top, maxval.dtype))  # pyright: ignore[reportArgumentType]
    minval, maxval = _clamped(minval, dtype), _clamped(maxval, dtype)
    upper, lower = (random_bits_p.bind(k, bit_width=width, shape=shape) for k in subkeys(key))
    one = ir.exact_scalar(1, unsigned)
    span = lax.convert_element_type(lax.sub(maxval, minval), unsigned)
    span = lax.select(lax.le(maxval, minval), lax.full_like(span, one), span)
    # An upper bound beyond the dtype's largest number was clamped, which excludes that number.
    whole = lax.bitwise_and(past_top, lax.gt(maxval, minval))
    span = lax.select(whole, lax.add(span, one), span)
    factor = lax.rem(ir.exact_scalar(2 ** (width // 2), unsigned), span)
    factor = lax.rem(lax.mul(factor, factor), span)
    offset = lax.add(lax.mul(lax.rem(upper, span), factor), lax.rem(lower, span))
    offset = lax.rem(offset, span)
    return lax.add(minval, lax.convert_element_type(offset, dtype))


def randint(
    key: ir.ArrayLike,
    shape: ir.ShapeLike,
    minval: ir.ArrayLike,
    maxval: ir.ArrayLike,
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Integers uniform in [minval, maxval).

    Args:
      key, shape, out_sharding: as for ``uniform``.
      minval, maxval: bounds, integer scalars or arrays that broadcast to ``shape``; if
        ``maxval`` is not greater, ``minval`` is returned.
      dtype: an integer dtype, by default the default one.

    Returns:
      An array of shape ``shape`` and an integer dtype.

    Raises:
      TypeError: if ``dtype`` is not an integer dtype, ``key`` not a key, or shapes mismatch.
      OverflowError: if a bound is a Python integer that the default dtype does not hold.

    ``maxval`` is never drawn: a die is ``randint(key, (), 1, 7)``.

    Example:
      >>> from ricci import random
      >>> random.randint(random.key(0), (3,), 0, 10)
      Array([9, 0, 2], dtype=int32)
      >>> dice = random.randint(random.key(0), (100,), 1, 7)
      >>> int(dice.min()), int(dice.max())
      (1, 6)

    See also:
      `choice`: elements of an array; `permutation`: each integer once.
    """
    key = check_key(key, "randint")
    result_dtype = ir.explicit_dtype(int if dtype is None else dtype, "randint")
    if not ir.issubdtype(result_dtype, np.integer):
        raise TypeError(
            f"randint: samples are integers, got dtype={result_dtype}. For floats use uniform."
        )
    sizes = sampled_shape("randint", as_shape(shape), minval, maxval)
    if result_dtype.itemsize >= 4:
        return with_out_sharding(
            _randint(key, minval, maxval, shape=sizes, dtype=result_dtype), out_sharding
        )
    # Narrow integers are drawn as int32, which can represent the bound past the largest one.
    low, high = _limits(result_dtype)
    wide = np.dtype("int32")
    minval = jnp.clip(_converted(minval, wide), min=low, max=high)
    maxval = jnp.clip(_converted(maxval, wide), min=low, max=high + 1)
    samples = _randint(key, minval, maxval, shape=sizes, dtype=wide)
    return with_out_sharding(lax.convert_element_type(samples, result_dtype), out_sharding)


def _converted(bound: ir.ArrayLike, dtype: np.dtype) -> ir.Array:
    if isinstance(bound, int):
        return ir.exact_scalar(bound, dtype)
    return lax.convert_element_type(bound, dtype)


@staged
def _bernoulli(key: ir.Array, p: ir.ArrayLike, *, shape: ir.Shape, mode: str) -> ir.Array:
    dtype = type_of(p).dtype
    if mode == "low":
        return jnp.less(_uniform(key, 0.0, 1.0, shape=shape, dtype=dtype), p)
    # The comparison is of p with coarse + eps · fine, a number with twice the random bits.
    both = _uniform(key, 0.0, 1.0, shape=(2, *shape), dtype=dtype)
    coarse, fine = lax.unstack(both)
    return jnp.less(lax.mul(fine, float_info(dtype).eps), jnp.subtract(p, coarse))


def bernoulli(
    key: ir.ArrayLike,
    p: ir.ArrayLike = 0.5,
    shape: ir.ShapeLike | None = None,
    mode: Literal["high", "low"] = "low",
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Booleans that are true with probability ``p``.

    Args:
      key, out_sharding: as for ``uniform``.
      p: the probability, a float scalar or array.
      shape: the result's shape; by default that of ``p``.
      mode: ``"high"`` resolves probabilities smaller than the spacing of random floats, with
        twice the random bits; ``"low"`` does not.

    Returns:
      A boolean array of shape ``shape``.

    Raises:
      TypeError: if ``p`` is not a float.
      ValueError: if ``p`` does not broadcast to ``shape``, or the mode is unknown.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import random
      >>> random.bernoulli(random.key(0), 0.3, (3,))
      Array([False, False, False], dtype=bool)
      >>> kept = random.bernoulli(random.key(1), 0.9, (1000,))
      >>> dropped_out = jnp.where(kept, jnp.ones(1000) / 0.9, 0.0)
      >>> 0.9 < float(dropped_out.mean()) < 1.1
      True
    """
    key = check_key(key, "bernoulli")
    check_choice("bernoulli", "mode", mode, ("high", "low"))
    dtype = type_of(p).dtype
    if not ir.issubdtype(dtype, np.floating):
        raise TypeError(
            f"bernoulli: p is a probability, so its dtype must be a float, not {dtype}."
        )
    sizes = sampled_shape("bernoulli", shape, p)
    if isinstance(p, float):
        p = ir.exact_scalar(p, dtype)
    return with_out_sharding(_bernoulli(key, p, shape=sizes, mode=mode), out_sharding)


@staged
def _rademacher(key: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    heads = _bernoulli(key, 0.5, shape=shape, mode="low")
    heads = lax.convert_element_type(heads, dtype)
    return lax.sub(lax.mul(ir.exact_scalar(2, dtype), heads), ir.exact_scalar(1, dtype))


def rademacher(
    key: ir.ArrayLike,
    shape: ir.ShapeLike = (),
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Random signs, -1 or 1 with equal probability (the Rademacher distribution).

    Args:
      key, shape, out_sharding: as for ``uniform``.
      dtype: the result's dtype, by default the default one for integers.

    Returns:
      An array of shape ``shape`` whose elements are -1 or 1.

    Example:
      >>> from ricci import random
      >>> random.rademacher(random.key(0), (3,))
      Array([-1, -1,  1], dtype=int32)
    """
    key = check_key(key, "rademacher")
    result_dtype = ir.explicit_dtype(int if dtype is None else dtype, "rademacher")
    return with_out_sharding(
        _rademacher(key, shape=as_shape(shape), dtype=result_dtype), out_sharding
    )
