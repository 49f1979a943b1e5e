"""The normal distribution, and those that are made of normal numbers."""

from functools import partial
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import get_aval, issubdtype

from ._arguments import (
    as_shape,
    float_dtype,
    float_info,
    placed,
    sampled_shape,
    with_rank,
)
from ._keys import check_key
from ._staging import staged
from ._uniform import _rademacher, _uniform, split_pair


@staged
def _normal_real(key, *, shape, dtype):
    info = float_info(dtype)
    u = _uniform(key, info.above_minus_one, info.one, shape=shape, dtype=dtype)
    return lax.mul(info(np.sqrt(2)), lax.erf_inv(u))


@staged
def _normal(key, *, shape, dtype):
    if not issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape=shape, dtype=dtype)
    part = np.dtype(f"float{dtype.itemsize * 4}")
    key_re, key_im = split_pair(key)
    real = _normal_real(key_re, shape=shape, dtype=part)
    real = lax.convert_element_type(real, dtype)
    imag = _normal_real(key_im, shape=shape, dtype=part)
    imag = lax.convert_element_type(imag, dtype)
    total = lax.add(real, lax.mul(np.array(1j, dtype)[()], imag))
    return lax.div(total, np.array(np.sqrt(2), dtype)[()])


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard normal distribution, mean 0 and variance 1.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float or complex dtype, by default the default float one; the variance of complex
        numbers is shared by both parts.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``key`` is no key.
      ValueError: if the dtype is another, or ``key`` an array of keys.

    Example:
      >>> normal(PRNGKey(0), (2,))
      Array([1.6226..., 2.0252...], dtype=float32)
    """
    key = check_key(key, "normal")
    dtype = float_dtype("normal", dtype, np.inexact)
    return placed(_normal(key, shape=as_shape(shape), dtype=dtype), out_sharding)


@staged
def _truncated_normal(key, lower, upper, *, shape, dtype):
    info = float_info(dtype)
    root = info(np.sqrt(2))
    lower = lax.convert_element_type(lower, dtype)
    upper = lax.convert_element_type(upper, dtype)
    a, b = lax.erf(lax.div(lower, root)), lax.erf(lax.div(upper, root))
    x = lax.mul(root, lax.erf_inv(_uniform(key, a, b, shape=shape, dtype=dtype)))
    # Rounding may go past the bounds, which are excluded.
    return jnp.clip(
        x,
        lax.nextafter(lax.stop_gradient(lower), info(np.inf)),
        lax.nextafter(lax.stop_gradient(upper), info(-np.inf)),
    )


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard normal numbers within (lower, upper).

    Args:
      key: one key.
      lower, upper: bounds, scalars or arrays that broadcast to ``shape``.
      shape: the result's shape; by default that of the bounds.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> truncated_normal(PRNGKey(0), -2.0, 2.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "truncated_normal")
    dtype = float_dtype("truncated_normal", dtype)
    sizes = sampled_shape("truncated_normal", shape, lower, upper)
    return placed(_truncated_normal(key, lower, upper, shape=sizes, dtype=dtype), out_sharding)


@partial(staged, inline=True)
def _lognormal(key, sigma, *, shape, dtype):
    sigma = lax.convert_element_type(sigma, dtype)
    x = lax.mul(_normal(key, shape=shape, dtype=dtype), with_rank_unless_scalar(sigma, shape))
    return lax.exp(x)


def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers whose logarithm is normal with mean 0 and standard deviation ``sigma``.

    Args:
      key: one key.
      sigma: a scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``sigma``.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> lognormal(PRNGKey(0), shape=(2,)).shape
      (2,)
    """
    key = check_key(key, "lognormal")
    dtype = float_dtype("lognormal", dtype)
    sizes = sampled_shape("lognormal", shape, sigma)
    return placed(_lognormal(key, sigma, shape=sizes, dtype=dtype), out_sharding)


def with_rank_unless_scalar(x: Any, shape: tuple[int, ...]) -> Any:
    """A parameter of the rank of a shape; a scalar as it is."""
    return with_rank(x, len(shape)) if get_aval(x).shape else x  # pyright: ignore


@staged
def _maxwell(key, *, shape, dtype):
    x = _normal(key, shape=(*shape, 3), dtype=dtype)
    return jnp.linalg.norm(x, axis=-1)


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Maxwell distribution: lengths of vectors of three normal numbers.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> maxwell(PRNGKey(0), (2,)).shape
      (2,)
    """
    key = check_key(key, "maxwell")
    dtype = float_dtype("maxwell", dtype)
    return placed(_maxwell(key, shape=as_shape(shape), dtype=dtype), out_sharding)


@staged
def _double_sided_maxwell(key, loc, scale, *, shape, dtype):
    size_key, sign_key = split_pair(key)
    size = _maxwell(size_key, shape=shape, dtype=dtype)
    sign = _rademacher(sign_key, shape=shape, dtype=dtype)
    scale = with_rank_unless_scalar(lax.convert_element_type(scale, dtype), shape)
    x = lax.mul(lax.mul(sign, size), scale)
    return lax.add(x, with_rank_unless_scalar(lax.convert_element_type(loc, dtype), shape))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of the Maxwell distribution, of either sign, scaled and moved.

    Args:
      key: one key.
      loc, scale: where the distribution is centred and how wide it is; scalars, or arrays that
        give the result leading dimensions.
      shape: the shape of the samples for each pair of parameters.
      dtype: a float dtype, by default the default one.

    Example:
      >>> double_sided_maxwell(PRNGKey(0), 0.0, 1.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "double_sided_maxwell")
    dtype = float_dtype("double_sided_maxwell", dtype)
    return _double_sided_maxwell(key, loc, scale, shape=as_shape(shape), dtype=dtype)
