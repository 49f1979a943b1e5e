"""Random vectors and matrices that need linear algebra."""

from typing import Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_random.keys._checks import check_key
from ricci_random.keys._key_calls import staged

from ._normal import _normal
from ._parameters import (
    Sharding,
    as_shape,
    broadcasts_to,
    common_shape,
    constrain_sharding,
    float_dtype,
)

__all__ = ["multivariate_normal", "orthogonal"]


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
    return constrain_sharding(x, out_sharding)


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
    return constrain_sharding(x, out_sharding)
