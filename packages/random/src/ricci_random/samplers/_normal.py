"""The normal distribution, and distributions derived from it."""

from functools import partial

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_random.keys._checks import check_key
from ricci_random.keys._key_calls import staged
from ricci_random.keys._primitives import subkeys

from ._float_info import float_info
from ._parameters import Sharding, as_shape, float_dtype, to_shape, with_rank_unless_scalar
from ._sampling import sample
from ._uniform import _rademacher, _uniform

__all__ = ["double_sided_maxwell", "lognormal", "maxwell", "normal", "truncated_normal", "wald"]


@staged
def _normal_real(key: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    info = float_info(dtype)
    u = _uniform(key, info.above_minus_one, info.one, shape=shape, dtype=dtype)
    return lax.mul(info(np.sqrt(2)), lax.erf_inv(u))


@staged
def _normal(key: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    if not ir.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape=shape, dtype=dtype)
    part = np.dtype(f"float{dtype.itemsize * 4}")
    key_re, key_im = subkeys(key)
    real = _normal_real(key_re, shape=shape, dtype=part)
    real = lax.convert_element_type(real, dtype)
    imag = _normal_real(key_im, shape=shape, dtype=part)
    imag = lax.convert_element_type(imag, dtype)
    total = lax.add(real, lax.mul(ir.exact_scalar(1j, dtype), imag))
    return lax.div(total, ir.exact_scalar(np.sqrt(2), dtype))


def normal(
    key: ir.ArrayLike,
    shape: ir.ShapeLike = (),
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers of the standard normal distribution, mean 0 and variance 1.

    Args:
      key, shape, out_sharding: as for ``uniform``.
      dtype: a float or complex dtype, by default the default float one. The real and the imaginary
        part of complex numbers have variance 1/2 each.

    Returns:
      An array of shape ``shape`` and dtype ``dtype``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the dtype is another, or ``key`` is an array of keys.

    For mean ``m`` and standard deviation ``s``: ``m + s * normal(key, shape)``, through which
    derivatives by ``m`` and ``s`` pass.

    Example:
      >>> import ricci
      >>> from ricci import random
      >>> random.normal(random.key(0), (2,))
      Array([1.6226..., 2.0252...], dtype=float32)
      >>> def sample(mean, scale):
      ...     return mean + scale * random.normal(random.key(0))
      >>> ricci.grad(sample, argnums=(0, 1))(1.0, 2.0)
      (Array(1., dtype=float32, weak_type=True), Array(1.6226..., dtype=float32, weak_type=True))

    See also:
      `multivariate_normal`: with a covariance; `truncated_normal`: between bounds.
    """
    return sample("normal", _normal, key, (), shape, dtype, out_sharding, np.inexact)


@staged
def _truncated_normal(
    key: ir.Array, lower: ir.ArrayLike, upper: ir.ArrayLike, *, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:
    info = float_info(dtype)
    root = info(np.sqrt(2))
    lower = lax.convert_element_type(lower, dtype)
    upper = lax.convert_element_type(upper, dtype)
    a, b = lax.erf(lax.div(lower, root)), lax.erf(lax.div(upper, root))
    x = lax.mul(root, lax.erf_inv(_uniform(key, a, b, shape=shape, dtype=dtype)))
    # The bounds are excluded, but rounding may reach them or go beyond.
    return jnp.clip(
        x,
        lax.nextafter(lax.stop_gradient(lower), info(np.inf)),
        lax.nextafter(lax.stop_gradient(upper), info(-np.inf)),
    )


def truncated_normal(
    key: ir.ArrayLike,
    lower: ir.ArrayLike,
    upper: ir.ArrayLike,
    shape: ir.ShapeLike | None = None,
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers of the standard normal distribution, given that they lie in (lower, upper).

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      lower, upper: bounds, scalars or arrays that broadcast to ``shape``.
      shape: the result's shape; by default that of the bounds.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.truncated_normal(random.key(0), -2.0, 2.0, (2,)).shape
      (2,)
    """
    bounds = (lower, upper)
    return sample("truncated_normal", _truncated_normal, key, bounds, shape, dtype, out_sharding)


@partial(staged, inline=True)
def _lognormal(key: ir.Array, sigma: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    sigma = lax.convert_element_type(sigma, dtype)
    x = lax.mul(_normal(key, shape=shape, dtype=dtype), with_rank_unless_scalar(sigma, shape))
    return lax.exp(x)


def lognormal(
    key: ir.ArrayLike,
    sigma: ir.ArrayLike = 1.0,
    shape: ir.ShapeLike | None = None,
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers of the log-normal distribution: their logarithm is normal, of mean 0.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      sigma: the logarithm's standard deviation, a scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``sigma``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.lognormal(random.key(0), shape=(2,)).shape
      (2,)
    """
    return sample("lognormal", _lognormal, key, (sigma,), shape, dtype, out_sharding)


@staged
def _maxwell(key: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    x = _normal(key, shape=(*shape, 3), dtype=dtype)
    return jnp.linalg.norm(x, axis=-1)


def maxwell(
    key: ir.ArrayLike,
    shape: ir.ShapeLike = (),
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers of the Maxwell distribution: the lengths of vectors of three normal numbers.

    Args:
      key, shape, dtype, out_sharding: as for ``uniform``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.maxwell(random.key(0), (2,)).shape
      (2,)
    """
    return sample("maxwell", _maxwell, key, (), shape, dtype, out_sharding)


@staged
def _double_sided_maxwell(
    key: ir.Array, loc: ir.ArrayLike, scale: ir.ArrayLike, *, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:
    size_key, sign_key = subkeys(key)
    size = _maxwell(size_key, shape=shape, dtype=dtype)
    sign = _rademacher(sign_key, shape=shape, dtype=dtype)
    scale = with_rank_unless_scalar(lax.convert_element_type(scale, dtype), shape)
    x = lax.mul(lax.mul(sign, size), scale)
    return lax.add(x, with_rank_unless_scalar(lax.convert_element_type(loc, dtype), shape))


def double_sided_maxwell(
    key: ir.ArrayLike,
    loc: ir.ArrayLike,
    scale: ir.ArrayLike,
    shape: ir.ShapeLike = (),
    dtype: ir.DTypeLike | None = None,
) -> ir.Array:
    """Numbers of the Maxwell distribution with a random sign, times ``scale``, plus ``loc``.

    Args:
      key, dtype: as for ``uniform``.
      loc, scale: scalars, or arrays that add leading dimensions to the result.
      shape: the shape of the samples for each pair of parameters.

    Returns:
      A float array of shape ``(*loc.shape, *shape)``, with ``loc`` and ``scale`` broadcast
      together.

    Example:
      >>> from ricci import random
      >>> random.double_sided_maxwell(random.key(0), 0.0, 1.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "double_sided_maxwell")
    result_dtype = float_dtype("double_sided_maxwell", dtype)
    return _double_sided_maxwell(key, loc, scale, shape=as_shape(shape), dtype=result_dtype)


@staged
def _wald(key: ir.Array, mean: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    # A number w of this distribution gives (w - mean)² / (mean² w), the square of a normal number.
    # That square is drawn, and the equation solved for w, whose two roots multiply to mean². The
    # smaller root is taken with probability mean / (mean + w).
    info = float_info(dtype)
    normal_key, uniform_key = subkeys(key)
    mean = to_shape(lax.convert_element_type(mean, dtype), shape)
    v = _normal(normal_key, shape=shape, dtype=dtype)
    z = _uniform(uniform_key, 0.0, 1.0, shape=shape, dtype=dtype)
    y = lax.integer_pow(v, 2)
    y_squared, mean_squared = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    root = lax.sqrt(lax.add(lax.mul(lax.mul(info(4), mean), y), lax.mul(mean_squared, y_squared)))
    middle = lax.add(mean, lax.div(lax.mul(mean_squared, y), info(2)))
    w = lax.sub(middle, lax.mul(lax.div(mean, info(2)), root))
    accepted = lax.le(z, lax.div(mean, lax.add(mean, w)))
    return lax.select(accepted, w, lax.div(mean_squared, w))


def wald(
    key: ir.ArrayLike,
    mean: ir.ArrayLike,
    shape: ir.ShapeLike | None = None,
    dtype: ir.DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers of the Wald (inverse Gaussian) distribution with scale 1.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      mean: a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``mean``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.wald(random.key(0), 1.0, (2,)).shape
      (2,)

    Source: Michael, Schucany and Haas, "Generating random variates using transformations with
    multiple roots", 1976.
    """
    return sample("wald", _wald, key, (mean,), shape, dtype, out_sharding)
