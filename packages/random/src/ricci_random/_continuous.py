"""Distributions made of one uniform or exponential number by a formula, most by inversion."""

from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import explicit_dtype, get_aval, issubdtype, result_type

from ._arguments import (
    as_shape,
    float_dtype,
    float_info,
    placed,
    sampled_shape,
    to_shape,
)
from ._keys import check_key
from ._normal import _normal, with_rank_unless_scalar
from ._staging import staged
from ._uniform import _uniform, split_pair


@staged
def _exponential(key, *, shape, dtype):
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    return lax.neg(lax.log1p(lax.neg(u)))


def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the exponential distribution, of density exp(-x) for x ≥ 0.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> exponential(PRNGKey(0), (2,)).shape
      (2,)
    """
    key = check_key(key, "exponential")
    dtype = float_dtype("exponential", dtype)
    return placed(_exponential(key, shape=as_shape(shape), dtype=dtype), out_sharding)


@staged
def _laplace(key, *, shape, dtype):
    u = _uniform(key, float_info(dtype).above_minus_one, 1.0, shape=shape, dtype=dtype)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Laplace distribution, of density exp(-|x|) / 2.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> laplace(PRNGKey(0), (2,)).shape
      (2,)
    """
    key = check_key(key, "laplace")
    dtype = float_dtype("laplace", dtype)
    return placed(_laplace(key, shape=as_shape(shape), dtype=dtype), out_sharding)


@staged
def _logistic(key, *, shape, dtype):
    u = _uniform(key, float_info(dtype).tiny, 1.0, shape=shape, dtype=dtype)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the logistic distribution, whose cumulative function is the sigmoid.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> logistic(PRNGKey(0), (2,)).shape
      (2,)
    """
    key = check_key(key, "logistic")
    dtype = float_dtype("logistic", dtype)
    return placed(_logistic(key, shape=as_shape(shape), dtype=dtype), out_sharding)


@staged
def _cauchy(key, *, shape, dtype):
    info = float_info(dtype)
    u = _uniform(key, info.eps, 1.0, shape=shape, dtype=dtype)
    return lax.tan(lax.mul(info(np.pi), lax.sub(u, info(0.5))))


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Cauchy distribution, of density 1 / (π (1 + x²)).

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> cauchy(PRNGKey(0), (2,)).shape
      (2,)
    """
    key = check_key(key, "cauchy")
    dtype = float_dtype("cauchy", dtype)
    return placed(_cauchy(key, shape=as_shape(shape), dtype=dtype), out_sharding)


@staged
def _pareto(key, b, *, shape, dtype):
    b = lax.convert_element_type(b, dtype)
    e = _exponential(key, shape=shape, dtype=dtype)
    return lax.exp(lax.div(e, with_rank_unless_scalar(b, shape)))


def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of the Pareto distribution, of density b / x^(b + 1) for x ≥ 1.

    Args:
      key: one key.
      b: a scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``b``.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> pareto(PRNGKey(0), 3.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "pareto")
    dtype = float_dtype("pareto", dtype)
    sizes = sampled_shape("pareto", shape, b)
    return placed(_pareto(key, b, shape=sizes, dtype=dtype), out_sharding)


@staged
def _rayleigh(key, scale, *, shape, dtype):
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    scale = to_shape(lax.convert_element_type(scale, dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), float_info(dtype)(-2))))


def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of the Rayleigh distribution, of density x exp(-x² / 2 scale²) / scale².

    Args:
      key: one key.
      scale: a scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``scale``.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> rayleigh(PRNGKey(0), 1.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "rayleigh")
    dtype = float_dtype("rayleigh", dtype)
    sizes = sampled_shape("rayleigh", shape, scale)
    return placed(_rayleigh(key, scale, shape=sizes, dtype=dtype), out_sharding)


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers whose density rises from ``left`` to ``mode`` and falls to ``right``, straight.

    Args:
      key: one key.
      left, mode, right: scalars or arrays that broadcast to ``shape``, in increasing order.
      shape: the result's shape; by default that of the parameters.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> triangular(PRNGKey(0), 0.0, 1.0, 3.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "triangular")
    dtype = float_dtype("triangular", dtype)
    sizes = sampled_shape("triangular", shape, left, mode, right)
    left, right, mode = (
        to_shape(lax.convert_element_type(x, dtype), sizes) for x in (left, right, mode)
    )
    turn = lax.div(lax.sub(mode, left), lax.sub(right, left))
    u = _uniform(key, 0.0, 1.0, shape=sizes, dtype=dtype)
    rise = lax.mul(lax.mul(u, lax.sub(right, left)), lax.sub(mode, left))
    low = lax.add(left, lax.sqrt(rise))
    fall = lax.mul(lax.sub(float_info(dtype).one, u), lax.sub(right, left))
    high = lax.sub(right, lax.sqrt(lax.mul(fall, lax.sub(right, mode))))
    return placed(lax.select(lax.lt(u, turn), low, high), out_sharding)


@staged
def _weibull_min(key, scale, concentration, *, shape, dtype):
    u = _uniform(key, 0, 1, shape=shape, dtype=dtype)
    e = lax.neg(lax.log1p(lax.neg(u)))
    return jnp.multiply(jnp.power(e, jnp.divide(1.0, concentration)), scale)


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Numbers of the Weibull distribution: powers of exponential numbers.

    Args:
      key: one key.
      scale: what they are multiplied by.
      concentration: the exponent is one over this.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.

    Example:
      >>> weibull_min(PRNGKey(0), 1.0, 2.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "weibull_min")
    dtype = float_dtype("weibull_min", dtype)
    return _weibull_min(key, scale, concentration, shape=as_shape(shape), dtype=dtype)


@staged
def _geometric(key, p, *, shape, dtype, float_type):
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=float_type)
    log_u = lax.log(jnp.where(lax.eq(u, float_info(float_type)(0)), 1, u))
    log_p = to_shape(lax.log1p(lax.neg(p)), shape)
    x = lax.add(lax.floor(lax.div(log_u, log_p)), float_info(float_type).one)
    return lax.convert_element_type(x, dtype)


def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """How many trials it takes to the first success, each of probability ``p``.

    Args:
      key: one key.
      p: a float scalar or array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``p``.
      dtype: an integer or float dtype, by default the default one for integers.
      out_sharding: the result's sharding.

    Raises:
      ValueError: if the dtype is neither an integer nor a float one.

    Example:
      >>> geometric(PRNGKey(0), 0.5, (3,)).shape
      (3,)
    """
    key = check_key(key, "geometric")
    found = explicit_dtype(int if dtype is None else dtype, "geometric")
    if not issubdtype(found, np.integer) and not issubdtype(found, np.floating):
        raise ValueError(
            f"geometric: samples are counts, as integers or floats, and dtype={found} is neither."
        )
    sizes = sampled_shape("geometric", shape, p)
    float_type = result_type(float, p)
    if get_aval(p).dtype != float_type:  # pyright: ignore[reportAttributeAccessIssue]
        p = lax.convert_element_type(p, float_type)
    x = _geometric(key, p, shape=sizes, dtype=found, float_type=float_type)
    return placed(x, out_sharding)


@staged
def _wald(key, mean, *, shape, dtype):
    info = float_info(dtype)
    normal_key, uniform_key = split_pair(key)
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
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of the Wald (inverse Gaussian) distribution with scale 1.

    Args:
      key: one key.
      mean: a scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``mean``.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Example:
      >>> wald(PRNGKey(0), 1.0, (2,)).shape
      (2,)

    Source: Michael, Schucany and Haas, "Generating random variates using transformations with
    multiple roots", 1976.
    """
    key = check_key(key, "wald")
    dtype = float_dtype("wald", dtype)
    sizes = sampled_shape("wald", shape, mean)
    return placed(_wald(key, mean, shape=sizes, dtype=dtype), out_sharding)
