"""Distributions drawn by inversion: a formula of one uniform or exponential number.

If u is uniform in (0, 1) and F is a distribution function, F⁻¹(u) has that distribution. Each
distribution is a pair: its formula, which is one call in jaxprs, and its public function.
"""

from functools import partial
from typing import Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Shape, ShapeLike
from ricci_lax.authoring import with_out_sharding
from ricci_numpy.authoring import check_choice
from ricci_random.keys._key_arguments import check_key, staged
from ricci_random.keys._primitives import type_of

from . import _exact_functions as exact
from ._native_draws import lower_gumbel
from ._parameters import (
    Sharding,
    as_shape,
    float_dtype,
    float_info,
    sample,
    sampled_shape,
    to_shape,
    with_rank_unless_scalar,
)
from ._uniform import _uniform, uniform_upper_first

__all__ = ["cauchy", "exponential", "geometric", "gumbel", "laplace", "logistic", "pareto"]
__all__ += ["rayleigh", "triangular", "weibull_min"]


@staged
def _exponential(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    # 1 - u lies in (0, 1], so that its logarithm is finite; log1p is accurate for small u.
    return lax.neg(exact.log1p(lax.neg(u)))


def exponential(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the exponential distribution, of density exp(-x) for x ≥ 0.

    Args:
      key, shape, dtype, out_sharding: as for ``uniform``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.exponential(random.key(0), (2,)).shape
      (2,)
    """
    return sample("exponential", _exponential, key, (), shape, dtype, out_sharding)


@staged
def _laplace(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    # The bounds exclude -1 and 1, where the logarithm of 1 - |u| is infinite.
    u = _uniform(key, float_info(dtype).above_minus_one, 1.0, shape=shape, dtype=dtype)
    return lax.mul(lax.sign(u), exact.log1p(lax.neg(lax.abs(u))))


def laplace(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the Laplace distribution, of density exp(-|x|) / 2.

    Args:
      key, shape, dtype, out_sharding: as for ``uniform``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.laplace(random.key(0), (2,)).shape
      (2,)
    """
    return sample("laplace", _laplace, key, (), shape, dtype, out_sharding)


@staged
def _logistic(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    # The inverse of the sigmoid is log(u) - log(1 - u), which is infinite at 0 and at 1.
    u = _uniform(key, float_info(dtype).tiny, 1.0, shape=shape, dtype=dtype)
    return lax.sub(exact.log(u), exact.log1p(lax.neg(u)))


def logistic(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the logistic distribution, whose cumulative function is the sigmoid.

    Args:
      key, shape, dtype, out_sharding: as for ``uniform``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.logistic(random.key(0), (2,)).shape
      (2,)
    """
    return sample("logistic", _logistic, key, (), shape, dtype, out_sharding)


@staged
def _cauchy(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    info = float_info(dtype)
    # The inverse distribution function tan(π (u - 1/2)) has a pole at 0.
    u = _uniform(key, info.eps, 1.0, shape=shape, dtype=dtype)
    return exact.tan(lax.mul(info(np.pi), lax.sub(u, info(0.5))))


def cauchy(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the Cauchy distribution, of density 1 / (π (1 + x²)).

    Args:
      key, shape, dtype, out_sharding: as for ``uniform``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.cauchy(random.key(0), (2,)).shape
      (2,)
    """
    return sample("cauchy", _cauchy, key, (), shape, dtype, out_sharding)


@staged
def _pareto(key: Array, b: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    b = lax.convert_element_type(b, dtype)
    # For x = exp(e / b): P(x > t) = P(e > b log t) = t^-b.
    e = _exponential(key, shape=shape, dtype=dtype)
    return exact.exp(lax.div(e, with_rank_unless_scalar(b, shape)))


def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the Pareto distribution, of density b / x^(b + 1) for x ≥ 1.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      b: the exponent, a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``b``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.pareto(random.key(0), 3.0, (2,)).shape
      (2,)
    """
    return sample("pareto", _pareto, key, (b,), shape, dtype, out_sharding)


@staged
def _rayleigh(key: Array, scale: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    # P(x > t) = exp(-t² / 2 scale²), which is set equal to u and solved for t.
    scale = to_shape(lax.convert_element_type(scale, dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(exact.log(u), float_info(dtype)(-2))))


def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the Rayleigh distribution, of density x exp(-x² / 2 scale²) / scale².

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      scale: the mode, a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``scale``.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.rayleigh(random.key(0), 1.0, (2,)).shape
      (2,)
    """
    return sample("rayleigh", _rayleigh, key, (scale,), shape, dtype, out_sharding)


@partial(staged, inline=True)
def _triangular(
    key: Array, left: ArrayLike, mode: ArrayLike, right: ArrayLike, *, shape: Shape, dtype: np.dtype
) -> Array:
    left, right, mode = (
        to_shape(lax.convert_element_type(x, dtype), shape) for x in (left, right, mode)
    )
    at_mode = lax.div(lax.sub(mode, left), lax.sub(right, left))  # the distribution function there
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    # Below the mode, the distribution function is (x - left)² / ((right - left) (mode - left)), and
    # above it 1 - (right - x)² / ((right - left) (right - mode)); both are solved for x.
    rise = lax.mul(lax.mul(u, lax.sub(right, left)), lax.sub(mode, left))
    low = lax.add(left, lax.sqrt(rise))
    fall = lax.mul(lax.sub(float_info(dtype).one, u), lax.sub(right, left))
    high = lax.sub(right, lax.sqrt(lax.mul(fall, lax.sub(right, mode))))
    return lax.select(lax.lt(u, at_mode), low, high)


def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the triangular distribution.

    Its density rises linearly from 0 at ``left`` to ``mode``, and falls linearly to 0 at ``right``.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      left, mode, right: scalars or arrays that broadcast to ``shape``, in increasing order.
      shape: the result's shape; by default that of the parameters.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.triangular(random.key(0), 0.0, 1.0, 3.0, (2,)).shape
      (2,)
    """
    parameters = (left, mode, right)
    return sample("triangular", _triangular, key, parameters, shape, dtype, out_sharding)


@staged
def _weibull_min(
    key: Array, scale: ArrayLike, concentration: ArrayLike, *, shape: Shape, dtype: np.dtype
) -> Array:
    u = _uniform(key, 0, 1, shape=shape, dtype=dtype)
    e = lax.neg(exact.log1p(lax.neg(u)))
    return jnp.multiply(exact.power(e, jnp.divide(1.0, concentration)), scale)


def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Numbers of the Weibull distribution, of distribution function 1 - exp(-(x / scale)^k).

    Args:
      key, shape, dtype: as for ``uniform``.
      scale: a positive scalar or array.
      concentration: the exponent k, a positive scalar or array.

    Returns:
      A float array of shape ``shape``.

    Example:
      >>> from ricci import random
      >>> random.weibull_min(random.key(0), 1.0, 2.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "weibull_min")
    result_dtype = float_dtype("weibull_min", dtype)
    return _weibull_min(key, scale, concentration, shape=as_shape(shape), dtype=result_dtype)


@staged
def _geometric(
    key: Array, p: ArrayLike, *, shape: Shape, dtype: np.dtype, float_type: np.dtype
) -> Array:
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=float_type)
    # P(x > k) = (1 - p)^k, so that x = floor(log(u) / log(1 - p)) + 1. The logarithm of u = 0 would
    # be infinite; it counts as 1.
    log_u = exact.log(jnp.where(lax.eq(u, float_info(float_type)(0)), 1, u))
    log_p = to_shape(exact.log1p(lax.neg(p)), shape)
    x = lax.add(lax.floor(lax.div(log_u, log_p)), float_info(float_type).one)
    return lax.convert_element_type(x, dtype)


def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the geometric distribution: the number of trials up to the first success.

    Args:
      key, out_sharding: as for ``uniform``.
      p: the probability of a success, a float scalar or array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``p``.
      dtype: an integer or float dtype, by default the default one for integers.

    Returns:
      An integer array of shape ``shape``, of 1 and more.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the dtype is neither an integer nor a float dtype.

    Example:
      >>> from ricci import random
      >>> random.geometric(random.key(0), 0.5, (3,)).shape
      (3,)
    """
    key = check_key(key, "geometric")
    result_dtype = ir.explicit_dtype(int if dtype is None else dtype, "geometric")
    if not ir.issubdtype(result_dtype, np.integer) and not ir.issubdtype(result_dtype, np.floating):
        raise ValueError(f"geometric: samples are integers or floats, got dtype={result_dtype}.")
    sizes = sampled_shape("geometric", shape, p)
    float_type = ir.result_type(float, p)
    if type_of(p).dtype != float_type:
        p = lax.convert_element_type(p, float_type)
    x = _geometric(key, p, shape=sizes, dtype=result_dtype, float_type=float_type)
    return with_out_sharding(x, out_sharding)


@partial(staged, lower=lower_gumbel)
def _gumbel(key: Array, *, shape: Shape, dtype: np.dtype, mode: str) -> Array:
    info = float_info(dtype)
    if mode == "low":
        u = uniform_upper_first(key, 1.0, info.tiny, shape=shape, dtype=dtype)
        return lax.neg(exact.log(lax.neg(exact.log(u))))
    # The upper tail comes from u near 0, where a single uniform number is too coarse. There a
    # second one adds the bits below its spacing.
    both = uniform_upper_first(key, 1.0, 0.0, shape=(2, *shape), dtype=dtype)
    coarse, fine = lax.unstack(both)
    near_one = lax.ge(coarse, info(0.5))
    least = max(float(info.eps) ** 2 / 2, float(info.tiny))  # in float16 the former is subnormal
    offset = lax.add(lax.add(coarse, lax.mul(info.eps, fine)), info(least))
    u = jnp.where(near_one, coarse, offset)
    return lax.neg(exact.log(lax.neg(exact.log1p(lax.neg(u)))))


def gumbel_mode(mode: str | None) -> str:
    """Check a mode of ``gumbel``; ``None`` selects it by ``jax_high_dynamic_range_gumbel``.

    Raises:
      ValueError: if the mode is unknown.
    """
    if mode is None:
        return "high" if ir.config.jax_high_dynamic_range_gumbel else "low"
    check_choice("gumbel", "mode", mode, ("high", "low"))
    return mode


def gumbel(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    mode: Literal["high", "low"] | None = None,
    *,
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the Gumbel distribution, of distribution function exp(-exp(-x)).

    Args:
      key, shape, dtype, out_sharding: as for ``uniform``.
      mode: ``"high"`` reaches further into the tails, with twice the random bits; ``"low"`` does
        not. The default is the option ``jax_high_dynamic_range_gumbel``.

    Returns:
      A float array of shape ``shape``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the mode is unknown, or the dtype is not a float dtype.

    Example:
      >>> from ricci import random
      >>> random.gumbel(random.key(0), (2,)).shape
      (2,)
    """
    checked_mode = gumbel_mode(mode)
    return sample("gumbel", _gumbel, key, (), shape, dtype, out_sharding, mode=checked_mode)
