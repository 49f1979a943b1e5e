"""Random vectors and matrices made with linear algebra."""

from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import result_type

from ._arguments import as_shape, common_shape, fits, float_dtype, placed
from ._keys import check_key
from ._normal import _normal
from ._staging import staged


@staged
def _multivariate_normal(key, mean, cov, *, shape, dtype, method):
    if method == "svd":
        u, s, _ = jnp.linalg.svd(cov)
        factor = jnp.multiply(u, jnp.sqrt(lax.expand_dims(s, (s.ndim - 1,))))
    elif method == "eigh":
        w, v = jnp.linalg.eigh(cov)
        factor = jnp.multiply(v, jnp.sqrt(lax.expand_dims(w, (w.ndim - 1,))))
    else:
        factor = jnp.linalg.cholesky(cov)
    x = _normal(key, shape=(*shape, mean.shape[-1]), dtype=dtype)
    return jnp.add(mean, jnp.einsum("...ij,...j->...i", factor, x))


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Vectors of the multivariate normal distribution.

    Args:
      key: one key.
      mean: of shape ``(..., n)``.
      cov: the covariance, of shape ``(..., n, n)``, symmetric and positive.
      shape: the shape of the samples, without the vectors' own dimension; by default that of the
        leading dimensions of both.
      dtype: the dtype of the normal numbers used, by default that of the parameters; the result's
        is the one that both promote to.
      method: how the covariance's root is found: ``"cholesky"``, ``"eigh"`` or ``"svd"``.
      out_sharding: the result's sharding.

    Raises:
      ValueError: if the parameters' shapes do not fit, or the method is unknown.

    Example:
      >>> multivariate_normal(PRNGKey(0), np.zeros(2), np.eye(2), (3,)).shape
      (3, 2)
    """
    key = check_key(key, "multivariate_normal")
    mean, cov = jnp.asarray(mean), jnp.asarray(cov)
    common = result_type(mean, cov, float)
    found = float_dtype("multivariate_normal", common if dtype is None else dtype)
    if method not in ("cholesky", "eigh", "svd"):
        raise ValueError(
            f"multivariate_normal: method is 'cholesky', 'eigh' or 'svd', got {method!r}."
        )
    if mean.ndim < 1:
        raise ValueError(
            "multivariate_normal: mean must be a vector or an array of them, got a scalar."
        )
    n = mean.shape[-1]
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal: for vectors of size {n}, cov must be of shape (..., {n}, {n}), "
            f"got {cov.shape}."
        )
    lead = common_shape("multivariate_normal", mean.shape[:-1], cov.shape[:-2])
    sizes = lead if shape is None else as_shape(shape)
    if not fits(lead, sizes):
        raise ValueError(
            f"multivariate_normal: the shape {sizes} does not hold samples for parameters with "
            f"leading dimensions {lead}."
        )
    mean, cov = mean.astype(common), cov.astype(common)
    x = _multivariate_normal(key, mean, cov, shape=sizes, dtype=found, method=method)
    return placed(x, out_sharding)


@staged
def _orthogonal(key, *, shape, n, m, dtype):
    x = _normal(key, shape=(*shape, max(n, m), min(n, m)), dtype=dtype)
    q, r = jnp.linalg.qr(x)
    d = jnp.diagonal(r, axis1=-2, axis2=-1)
    # Without the signs of r's diagonal the distribution would not be uniform (Mezzadri 2007).
    x = jnp.multiply(q, lax.expand_dims(lax.sign(d), (d.ndim - 1,)))
    return x if n >= m else jnp.matrix_transpose(x)


def orthogonal(
    key: Any,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Matrices uniform over those with orthonormal columns, or rows where these are fewer.

    Args:
      key: one key.
      n: the number of rows.
      shape: the shape of the samples, without the matrices' own dimensions.
      dtype: a float or complex dtype (unitary matrices), by default the default float one.
      m: the number of columns, by default ``n``.
      out_sharding: the result's sharding.

    Example:
      >>> orthogonal(PRNGKey(0), 3, (2,)).shape
      (2, 3, 3)

    Source: Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
    """
    key = check_key(key, "orthogonal")
    dtype = float_dtype("orthogonal", dtype, np.inexact)
    columns = n if m is None else m
    x = _orthogonal(key, shape=as_shape(shape), n=n, m=columns, dtype=dtype)
    return placed(x, out_sharding)
