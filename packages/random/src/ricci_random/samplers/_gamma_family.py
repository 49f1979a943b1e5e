"""Distributions derived from gamma numbers: beta, Dirichlet, chi-square, F, t and others."""

from operator import index

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, Shape, ShapeLike
from ricci_lax.authoring import with_out_sharding
from ricci_random.keys._key_arguments import check_key, staged
from ricci_random.keys._primitives import random_split_p, subkeys, type_of

from . import _exact_functions as exact
from . import _parameters as parameters
from ._gamma import Method, gamma_rule
from ._inversion import _exponential
from ._normal import _normal
from ._uniform import _rademacher

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "generalized_normal", "t"]


@staged
def _beta(key: Array, a: Array, b: Array, *, shape: Shape, dtype: np.dtype, method: str) -> Array:
    draw = gamma_rule("beta", method)
    a, b = lax.convert_element_type(a, dtype), lax.convert_element_type(b, dtype)
    key_a, key_b = subkeys(key)
    a, b = parameters.to_shape(a, shape), parameters.to_shape(b, shape)
    # The gamma numbers may be too small for the dtype. So their logarithms are drawn, and the
    # greater one is subtracted from both before exponentiating.
    log_a = draw(key_a, a, shape=shape, dtype=dtype, log_space=True)
    log_b = draw(key_b, b, shape=shape, dtype=dtype, log_space=True)
    greatest = lax.max(log_a, log_b)
    scaled_a, scaled_b = exact.exp(log_a - greatest), exact.exp(log_b - greatest)
    return scaled_a / (scaled_a + scaled_b)


def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: Method = "exact",
    out_sharding: parameters.Sharding = None,
) -> Array:
    """Numbers of the beta distribution, of density proportional to x^(a - 1) (1 - x)^(b - 1).

    Args:
      key, dtype, method, out_sharding: as for ``gamma``.
      a, b: positive scalars or arrays that broadcast to ``shape``.
      shape: the result's shape; by default the one that the parameters broadcast to.

    Returns:
      A float array of shape ``shape``, between 0 and 1.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> from ricci import random
      >>> random.beta(random.key(0), 2.0, 3.0, (2,)).shape
      (2,)

    Source: x / (x + y) for gamma numbers x and y; as for ``gamma``.
    """
    gamma_rule("beta", method)
    return parameters.sample("beta", _beta, key, (a, b), shape, dtype, out_sharding, method=method)


@staged
def _dirichlet(key: Array, alpha: ArrayLike, *, shape: Shape, dtype: np.dtype) -> Array:
    alpha = lax.convert_element_type(alpha, dtype)
    shape = (*shape, *alpha.shape[-1:])
    draw = gamma_rule("dirichlet", "exact")
    logs = draw(key, alpha, shape=shape, dtype=dtype, log_space=True)
    greatest = jnp.max(logs, axis=-1, keepdims=True, initial=-np.inf)
    # Gamma numbers of small alpha underflow, their ratios need not. The shift cancels in the ratio,
    # so that it needs no derivative.
    parts = exact.exp(logs - lax.stop_gradient(greatest))
    return parts / jnp.sum(parts, axis=-1, keepdims=True)


def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: parameters.Sharding = None,
) -> Array:
    """Vectors of the Dirichlet distribution: positive numbers that add up to 1.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      alpha: the concentrations, positive, of shape ``(..., n)``.
      shape: the shape of the samples, without the vectors' dimension; by default that of the
        leading dimensions of ``alpha``.

    Returns:
      A float array of shape ``(*shape, k)``, for ``k`` categories; the last dimension sums up to 1.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if ``alpha`` is a scalar, its leading dimensions do not broadcast to ``shape``,
        or the dtype is not a float dtype.

    Example:
      >>> import numpy as np
      >>> from ricci import random
      >>> random.dirichlet(random.key(0), np.ones(3), (2,)).shape
      (2, 3)

    Source: gamma numbers over their sum; as for ``gamma``.
    """
    key = check_key(key, "dirichlet")
    result_dtype = parameters.float_dtype("dirichlet", dtype)
    lead = type_of(alpha).shape[:-1]
    if not type_of(alpha).ndim:
        raise ValueError(
            "dirichlet: alpha must be a vector of concentrations or an array of them, got a scalar."
        )
    sizes = lead if shape is None else parameters.as_shape(shape)
    if not parameters.broadcasts_to(lead, sizes):
        raise ValueError(
            f"dirichlet: the leading dimensions {lead} of alpha do not broadcast to the shape "
            f"{sizes} of the samples."
        )
    return with_out_sharding(_dirichlet(key, alpha, shape=sizes, dtype=result_dtype), out_sharding)


@staged
def _chisquare(key: Array, df: Array, *, shape: Shape, dtype: np.dtype, method: str) -> Array:
    df = lax.convert_element_type(df, dtype)
    draw = gamma_rule("chisquare", method)
    log_half = draw(key, df / 2.0, shape=shape, dtype=dtype, log_space=True)
    return exact.exp(log_half) * 2.0


def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: Method = "exact",
    out_sharding: parameters.Sharding = None,
) -> Array:
    """Numbers of the chi-square distribution: sums of the squares of ``df`` normal numbers.

    Args:
      key, dtype, method, out_sharding: as for ``gamma``.
      df: the degrees of freedom, a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``df``.

    Returns:
      A float array of shape ``shape``.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> from ricci import random
      >>> random.chisquare(random.key(0), 4.0, (2,)).shape
      (2,)
    """
    gamma_rule("chisquare", method)
    return parameters.sample(
        "chisquare", _chisquare, key, (df,), shape, dtype, out_sharding, method=method
    )


@staged
def _f(key: Array, dfnum: Array, dfden: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    dfden = lax.convert_element_type(dfden, dtype)
    dfnum = lax.convert_element_type(dfnum, dtype)
    key_den, key_num = subkeys(key)
    num = _chisquare(key_num, dfnum, shape=shape, dtype=dtype, method="exact")
    den = _chisquare(key_den, dfden, shape=shape, dtype=dtype, method="exact")
    num = num / parameters.with_rank_unless_scalar(dfnum, shape)
    return num / (den / parameters.with_rank_unless_scalar(dfden, shape))


def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: parameters.Sharding = None,
) -> Array:
    """Numbers of the F distribution: ratios of two chi-square numbers, each over its degrees.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      dfnum, dfden: the degrees of freedom of the numerator and of the denominator, positive
        scalars or arrays that broadcast to ``shape``.
      shape: the result's shape; by default the one that the parameters broadcast to.

    Returns:
      A float array of shape ``shape``.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> from ricci import random
      >>> random.f(random.key(0), 2.0, 5.0, (2,)).shape
      (2,)
    """
    return parameters.sample("f", _f, key, (dfnum, dfden), shape, dtype, out_sharding)


@staged
def _t(key: Array, df: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    normal_key, gamma_key = subkeys(key)
    x = _normal(normal_key, shape=shape, dtype=dtype)
    half = lax.convert_element_type(df, dtype) / 2.0
    draw = gamma_rule("t", "exact")
    # 2 g is chi-square with df degrees of freedom, and df / 2 g = half / g.
    g = draw(gamma_key, half, shape=shape, dtype=dtype, log_space=False)
    return x * lax.sqrt(parameters.with_rank_unless_scalar(half, shape) / g)


def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: parameters.Sharding = None,
) -> Array:
    """Numbers of Student's t distribution: a normal number over sqrt(c / df), c being chi-square.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      df: the degrees of freedom, a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``df``.

    Returns:
      A float array of shape ``shape``.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> from ricci import random
      >>> random.t(random.key(0), 3.0, (2,)).shape
      (2,)
    """
    return parameters.sample("t", _t, key, (df,), shape, dtype, out_sharding)


@staged
def _generalized_normal(key: Array, p: ArrayLike, *, shape: Shape, dtype: np.dtype) -> Array:
    keys = random_split_p.bind(key, shape=(2,))
    draw = gamma_rule("generalized_normal", "exact")
    # If |x|^p is a gamma number of shape 1 / p, |x| has a density proportional to exp(-|x|^p).
    g = draw(keys[0], jnp.divide(1.0, p), shape=shape, dtype=dtype, log_space=False)
    sign = _rademacher(keys[1], shape=shape, dtype=dtype)
    return jnp.multiply(sign, exact.power(g, jnp.divide(1.0, p)))


def generalized_normal(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: parameters.Sharding = None,
) -> Array:
    """Numbers of the generalized normal distribution, of density proportional to exp(-|x|^p).

    Args:
      key, shape, dtype, out_sharding: as for ``uniform``.
      p: the exponent, a positive scalar or an array that broadcasts to ``shape``: 1 gives the
        Laplace distribution, 2 the normal one of variance 1/2.

    Returns:
      A float array of shape ``shape``.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> from ricci import random
      >>> random.generalized_normal(random.key(0), 3.0, (2,)).shape
      (2,)
    """
    name, sizes = "generalized_normal", parameters.as_shape(shape)
    return parameters.sample(name, _generalized_normal, key, (p,), sizes, dtype, out_sharding)


@staged
def _ball(key: Array, p: ArrayLike, *, d: int, shape: Shape, dtype: np.dtype) -> Array:
    direction_key, length_key = subkeys(key)
    x = _generalized_normal(direction_key, p, shape=(*shape, d), dtype=dtype)
    e = _exponential(length_key, shape=shape, dtype=dtype)
    # The vector over (Σ |x_i|^p + e)^(1/p), with e exponential, is uniform in the ball (Barthe,
    # Guédon, Mendelson and Naor, 2005).
    total = jnp.sum(exact.power(jnp.abs(x), p), axis=-1) + e
    length = exact.power(total, jnp.divide(1.0, p))
    return x / lax.expand_dims(length, (len(shape),))


def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: parameters.Sharding = None,
) -> Array:
    """Points uniform in the unit ball of a p-norm.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      d: the number of dimensions.
      p: the exponent of the norm, a positive number.
      shape: the shape of the samples, without the points' dimension.

    Returns:
      A float array of shape ``(*shape, d)``.

    Raises:
      TypeError: if ``key`` is not a key, or ``d`` is not a nonnegative integer.
      ValueError: if the dtype is not a float dtype, or ``p`` does not broadcast.

    Example:
      >>> import numpy as np
      >>> from ricci import random
      >>> points = random.ball(random.key(0), 3, shape=(100,))
      >>> bool((np.linalg.norm(points, axis=-1) <= 1).all())
      True

    Source: Barthe, Guédon, Mendelson and Naor, "A probabilistic approach to the geometry of the
    l_p^n-ball", 2005.
    """
    key = check_key(key, "ball")
    result_dtype = parameters.float_dtype("ball", dtype)
    dimensions = index(d)
    sizes = parameters.as_shape(shape)
    if dimensions < 0:
        raise TypeError(f"ball: the number of dimensions d must not be negative, got {d}.")
    parameters.sampled_shape("ball", (*sizes, dimensions), p)
    return with_out_sharding(
        _ball(key, p, d=dimensions, shape=sizes, dtype=result_dtype), out_sharding
    )
