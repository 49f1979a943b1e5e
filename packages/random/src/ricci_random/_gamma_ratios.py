"""Distributions whose numbers are made of numbers of the gamma distribution."""

from operator import index
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import get_aval

from ._arguments import as_shape, fits, float_dtype, placed, sampled_shape, to_shape
from ._continuous import _exponential
from ._gamma import gamma_rule
from ._keys import check_key
from ._normal import _normal, with_rank_unless_scalar
from ._primitives import random_split_p
from ._staging import staged
from ._uniform import _rademacher, split_pair


@staged
def _beta(key, a, b, *, shape, dtype, method):
    draw = gamma_rule("beta", method)
    a, b = lax.convert_element_type(a, dtype), lax.convert_element_type(b, dtype)
    key_a, key_b = split_pair(key)
    a, b = to_shape(a, shape), to_shape(b, shape)
    # By logarithms, as both numbers may be too small for the dtype.
    log_a = draw(key_a, a, shape=shape, dtype=dtype, log_space=True)
    log_b = draw(key_b, b, shape=shape, dtype=dtype, log_space=True)
    greatest = lax.max(log_a, log_b)
    a, b = lax.exp(log_a - greatest), lax.exp(log_b - greatest)
    return a / (a + b)


def beta(
    key: Any,
    a: Any,
    b: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers of the beta distribution, of density proportional to x^(a - 1) (1 - x)^(b - 1).

    Args:
      key: one key.
      a, b: positive scalars or arrays that broadcast to ``shape``.
      shape: the result's shape; by default the one that the parameters broadcast to.
      dtype: a float dtype, by default the default one.
      method: as for ``gamma``.
      out_sharding: the result's sharding.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> beta(PRNGKey(0), 2.0, 3.0, (2,)).shape
      (2,)

    Source: a gamma number's part in the sum of two; ``gamma``.
    """
    key = check_key(key, "beta")
    dtype = float_dtype("beta", dtype)
    gamma_rule("beta", method)
    sizes = sampled_shape("beta", shape, a, b)
    return placed(_beta(key, a, b, shape=sizes, dtype=dtype, method=method), out_sharding)


@staged
def _dirichlet(key, alpha, *, shape, dtype):
    alpha = lax.convert_element_type(alpha, dtype)
    shape = (*shape, *alpha.shape[-1:])
    draw = gamma_rule("dirichlet", "exact")
    logs = draw(key, alpha, shape=shape, dtype=dtype, log_space=True)
    greatest = jnp.max(logs, axis=-1, keepdims=True, initial=-np.inf)
    parts = lax.exp(logs - lax.stop_gradient(greatest))
    return parts / jnp.sum(parts, axis=-1, keepdims=True)


def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Vectors of the Dirichlet distribution: positive numbers that add up to 1.

    Args:
      key: one key.
      alpha: the concentrations, positive, of shape ``(..., n)``.
      shape: the shape of the samples, without the vectors' own dimension; by default that of the
        leading dimensions of ``alpha``.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``key`` is no key.
      ValueError: if ``alpha`` is a scalar, its leading dimensions do not broadcast to ``shape``,
        or the dtype is no float dtype.

    Example:
      >>> dirichlet(PRNGKey(0), np.ones(3), (2,)).shape
      (2, 3)

    Source: gamma numbers' parts in their sum; ``gamma``.
    """
    key = check_key(key, "dirichlet")
    dtype = float_dtype("dirichlet", dtype)
    found: Any = get_aval(alpha)
    if not found.ndim:
        raise ValueError(
            "dirichlet: alpha must be a vector of concentrations or an array of them, got a scalar."
        )
    sizes = found.shape[:-1] if shape is None else as_shape(shape)
    if not fits(found.shape[:-1], sizes):
        raise ValueError(
            f"dirichlet: the shape {sizes} does not hold samples for alpha with leading dimensions "
            f"{found.shape[:-1]}."
        )
    return placed(_dirichlet(key, alpha, shape=sizes, dtype=dtype), out_sharding)


@staged
def _chisquare(key, df, *, shape, dtype, method):
    df = lax.convert_element_type(df, dtype)
    draw = gamma_rule("chisquare", method)
    log_half = draw(key, df / 2.0, shape=shape, dtype=dtype, log_space=True)
    return lax.exp(log_half) * 2.0


def chisquare(
    key: Any,
    df: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers of the chi-square distribution: sums of the squares of ``df`` normal numbers.

    Args:
      key: one key.
      df: the degrees of freedom, a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``df``.
      dtype: a float dtype, by default the default one.
      method: as for ``gamma``.
      out_sharding: the result's sharding.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> chisquare(PRNGKey(0), 4.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "chisquare")
    dtype = float_dtype("chisquare", dtype)
    gamma_rule("chisquare", method)
    sizes = sampled_shape("chisquare", shape, df)
    return placed(_chisquare(key, df, shape=sizes, dtype=dtype, method=method), out_sharding)


@staged
def _f(key, dfnum, dfden, *, shape, dtype):
    dfden = lax.convert_element_type(dfden, dtype)
    dfnum = lax.convert_element_type(dfnum, dtype)
    key_den, key_num = split_pair(key)
    num = _chisquare(key_num, dfnum, shape=shape, dtype=dtype, method="exact")
    den = _chisquare(key_den, dfden, shape=shape, dtype=dtype, method="exact")
    num = num / with_rank_unless_scalar(dfnum, shape)
    return num / (den / with_rank_unless_scalar(dfden, shape))


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers of the F distribution: ratios of two chi-square numbers over their degrees.

    Args:
      key: one key.
      dfnum, dfden: the degrees of freedom above and below, positive scalars or arrays that
        broadcast to ``shape``.
      shape: the result's shape; by default the one that the parameters broadcast to.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> f(PRNGKey(0), 2.0, 5.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "f")
    dtype = float_dtype("f", dtype)
    sizes = sampled_shape("f", shape, dfnum, dfden)
    return placed(_f(key, dfnum, dfden, shape=sizes, dtype=dtype), out_sharding)


@staged
def _t(key, df, *, shape, dtype):
    df = lax.convert_element_type(df, dtype)
    normal_key, gamma_key = split_pair(key)
    x = _normal(normal_key, shape=shape, dtype=dtype)
    half = df / 2.0
    draw = gamma_rule("t", "exact")
    g = draw(gamma_key, half, shape=shape, dtype=dtype, log_space=False)
    return x * lax.sqrt(with_rank_unless_scalar(half, shape) / g)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of Student's t distribution.

    Args:
      key: one key.
      df: the degrees of freedom, a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``df``.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> t(PRNGKey(0), 3.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "t")
    dtype = float_dtype("t", dtype)
    sizes = sampled_shape("t", shape, df)
    return placed(_t(key, df, shape=sizes, dtype=dtype), out_sharding)


@staged
def _generalized_normal(key, p, *, shape, dtype):
    keys = random_split_p.bind(key, shape=(2,))
    draw = gamma_rule("generalized_normal", "exact")
    g = draw(keys[0], jnp.divide(1.0, p), shape=shape, dtype=dtype, log_space=False)
    sign = _rademacher(keys[1], shape=shape, dtype=dtype)
    return jnp.multiply(sign, jnp.power(g, jnp.divide(1.0, p)))


def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of the generalized normal distribution, of density proportional to exp(-|x|^p).

    Args:
      key: one key.
      p: the exponent, a positive scalar or an array that broadcasts to ``shape``: 1 gives the
        Laplace distribution, 2 a normal one of variance 1/2.
      shape: the result's shape.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> generalized_normal(PRNGKey(0), 3.0, (2,)).shape
      (2,)
    """
    key = check_key(key, "generalized_normal")
    dtype = float_dtype("generalized_normal", dtype)
    sizes = sampled_shape("generalized_normal", as_shape(shape), p)
    return placed(_generalized_normal(key, p, shape=sizes, dtype=dtype), out_sharding)


@staged
def _ball(key, p, *, d, shape, dtype):
    direction_key, length_key = split_pair(key)
    x = _generalized_normal(direction_key, p, shape=(*shape, d), dtype=dtype)
    e = _exponential(length_key, shape=shape, dtype=dtype)
    total = jnp.sum(jnp.power(jnp.abs(x), p), axis=-1) + e
    length = jnp.power(total, jnp.divide(1.0, p))
    return x / lax.expand_dims(length, (len(shape),))


def ball(
    key: Any,
    d: int,
    p: float = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Points uniform in the unit ball of a p-norm.

    Args:
      key: one key.
      d: the number of dimensions.
      p: which norm, a positive number.
      shape: the shape of the samples, without the points' own dimension.
      dtype: a float dtype, by default the default one.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``key`` is no key, or ``d`` no integer that is not negative.
      ValueError: if the dtype is no float dtype, or ``p`` is an array that does not fit.

    Example:
      >>> points = ball(PRNGKey(0), 3, shape=(100,))
      >>> bool((np.linalg.norm(points, axis=-1) <= 1).all())
      True

    Source: Barthe, Guédon, Mendelson and Naor, "A probabilistic approach to the geometry of the
    l_p^n-ball", 2005.
    """
    key = check_key(key, "ball")
    dtype = float_dtype("ball", dtype)
    dimensions = index(d)
    sizes = as_shape(shape)
    if dimensions < 0:
        raise TypeError(f"ball: the number of dimensions d must not be negative, got {d}.")
    sampled_shape("ball", (*sizes, dimensions), p)
    return placed(_ball(key, p, d=dimensions, shape=sizes, dtype=dtype), out_sharding)
