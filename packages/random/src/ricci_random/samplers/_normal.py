"""The normal distribution, distributions derived from it, and random vectors and matrices."""

from functools import partial
from typing import Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import with_out_sharding
from ricci_random.keys._key_arguments import check_key, staged
from ricci_random.keys._primitives import subkeys

from . import _exact_functions as exact
from ._native_draws import lower_normal
from ._parameters import (
    Sharding,
    as_shape,
    broadcasts_to,
    common_shape,
    float_dtype,
    float_info,
    sample,
    to_shape,
    with_rank_unless_scalar,
)
from ._uniform import _rademacher, _uniform

__all__ = ["double_sided_maxwell", "lognormal", "maxwell", "multivariate_normal", "normal"]
__all__ += ["orthogonal", "truncated_normal", "wald"]


@partial(staged, lower=lower_normal)
def _normal_real(key: ir.Array, *, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    info = float_info(dtype)
    # The normal distribution function is (1 + erf(x / √2)) / 2. Its inverse is infinite at u = ±1,
    # which the bounds exclude.
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
    # Each part has variance 1/2 after the division, and the complex number has variance 1.
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
    # erf is increasing: numbers uniform between its values at the bounds are mapped back between
    # the bounds.
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
    return exact.exp(x)


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


@staged
def _multivariate_normal(
    key: ir.Array, mean: ir.Array, cov: ir.Array, *, shape: ir.Shape, dtype: np.dtype, method: str
) -> ir.Array:
    # A vector of normal numbers times a factor A of the covariance, cov = A Aᵀ, has covariance cov.
    if method == "svd":
        u, s, _ = jnp.linalg.svd(cov)
        factor = jnp.multiply(u, jnp.sqrt(lax.expand_dims(s, (s.ndim - 1,))))
    elif method == "eigh":
        w, v = jnp.linalg.eigh(cov)
        factor = jnp.multiply(v, jnp.sqrt(lax.expand_dims(w, (w.ndim - 1,))))
    else:
        factor = jnp.linalg.cholesky(cov)
    x = _normal(key, shape=(*shape, mean.shape[-1]), dtype=dtype)
    noise = jnp.einsum("...ij,...j->...i", factor, x)
    return jnp.add(jnp.broadcast_to(mean, noise.shape), noise)


def multivariate_normal(
    key: ir.ArrayLike,
    mean: ir.ArrayLike,
    cov: ir.ArrayLike,
    shape: ir.ShapeLike | None = None,
    dtype: ir.DTypeLike | None = None,
    method: Literal["cholesky", "eigh", "svd"] = "cholesky",
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Vectors of the multivariate normal distribution.

    Args:
      key, out_sharding: as for ``uniform``.
      mean: of shape ``(..., n)``.
      cov: the covariance, of shape ``(..., n, n)``, symmetric and positive definite; semidefinite
        suffices for the methods other than ``"cholesky"``.
      shape: the shape of the samples, without the vectors' dimension; by default that of the
        leading dimensions of both.
      dtype: the dtype of the drawn normal numbers, by default that of the parameters; the
        result's dtype is that to which both promote.
      method: the factorization of the covariance: ``"cholesky"``, ``"eigh"`` or ``"svd"``.

    Returns:
      A float array of shape ``(*shape, n)``, for a mean of size ``n``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the parameters' shapes are incompatible, or the method is unknown.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import random
      >>> mean, cov = jnp.array([0.0, 5.0]), jnp.array([[1.0, 0.9], [0.9, 1.0]])
      >>> points = random.multivariate_normal(random.key(0), mean, cov, (2000,))
      >>> points.shape, bool(jnp.allclose(jnp.cov(points.T), cov, atol=0.1))
      ((2000, 2), True)
    """
    key = check_key(key, "multivariate_normal")
    center: ir.Array = jnp.asarray(mean)
    spread: ir.Array = jnp.asarray(cov)
    common = ir.result_type(center, spread, float)
    draw_dtype = float_dtype("multivariate_normal", common if dtype is None else dtype)
    if method not in ("cholesky", "eigh", "svd"):
        raise ValueError(
            f"multivariate_normal: method is 'cholesky', 'eigh' or 'svd', got {method!r}."
        )
    if center.ndim < 1:
        raise ValueError(
            "multivariate_normal: mean must be a vector or an array of them, got a scalar."
        )
    n = center.shape[-1]
    if spread.ndim < 2 or spread.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal: for vectors of size {n}, cov must be of shape (..., {n}, {n}), "
            f"got {spread.shape}."
        )
    lead = common_shape("multivariate_normal", center.shape[:-1], spread.shape[:-2])
    sizes = lead if shape is None else as_shape(shape)
    if not broadcasts_to(lead, sizes):
        raise ValueError(
            f"multivariate_normal: the leading dimensions {lead} of the parameters do not "
            f"broadcast to the shape {sizes} of the samples."
        )
    center, spread = center.astype(common), spread.astype(common)
    x = _multivariate_normal(key, center, spread, shape=sizes, dtype=draw_dtype, method=method)
    return with_out_sharding(x, out_sharding)


@staged
def _orthogonal(key: ir.Array, *, shape: ir.Shape, n: int, m: int, dtype: np.dtype) -> ir.Array:
    x = _normal(key, shape=(*shape, max(n, m), min(n, m)), dtype=dtype)
    q, r = jnp.linalg.qr(x)
    d = jnp.diagonal(r, axis1=-2, axis2=-1)
    # Q itself is not uniform; multiplied by the signs of R's diagonal, it is (Mezzadri).
    x = jnp.multiply(q, lax.expand_dims(lax.sign(d), (d.ndim - 1,)))
    return x if n >= m else jnp.matrix_transpose(x)


def orthogonal(
    key: ir.ArrayLike,
    n: int,
    shape: ir.ShapeLike = (),
    dtype: ir.DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Orthogonal matrices, uniform by Haar's measure.

    If they are not square, their columns are orthonormal, or their rows if there are fewer rows.

    Args:
      key, out_sharding: as for ``uniform``.
      n: the number of rows.
      shape: the shape of the samples, without the matrices' dimensions.
      dtype: a float dtype, by default the default one, or a complex one for unitary matrices.
      m: the number of columns, by default ``n``.

    Returns:
      An array of shape ``(*shape, n, m)``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the dtype is neither a float nor a complex dtype.

    Example:
      >>> from ricci import random
      >>> random.orthogonal(random.key(0), 3, (2,)).shape
      (2, 3, 3)

    Source: Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
    """
    key = check_key(key, "orthogonal")
    result_dtype = float_dtype("orthogonal", dtype, np.inexact)
    columns = n if m is None else m
    x = _orthogonal(key, shape=as_shape(shape), n=n, m=columns, dtype=result_dtype)
    return with_out_sharding(x, out_sharding)
