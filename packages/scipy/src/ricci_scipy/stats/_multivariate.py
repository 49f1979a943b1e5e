"""Distributions of vectors: Dirichlet's, the multinomial and the multivariate normal."""

from math import log, pi
from types import ModuleType

import numpy as np

import ricci_lax as lax
import ricci_lax.linalg as lax_linalg
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike
from ricci_numpy.authoring import promote_args_inexact, promote_dtypes_inexact
from ricci_scipy import special

from ._distribution import module_of

__all__ = ["dirichlet", "multinomial", "multivariate_normal"]


def _dirichlet_logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    x, alpha = promote_dtypes_inexact(jnp.asarray(x), jnp.asarray(alpha))
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha must be one-dimensional, got shape {alpha.shape}.")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            f"dirichlet: the first size of x must be that of alpha, {alpha.shape[0]}, or one less, "
            f"got shape {x.shape}."
        )
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - x.sum(axis=0, keepdims=True)])
    # The last coordinate may be left out: the coordinates add up to 1.
    normalizer = jnp.sum(special.gammaln(alpha)) - special.gammaln(jnp.sum(alpha))
    weights = alpha.reshape(-1, *(1,) * (x.ndim - 1))
    log = jnp.sum(special.xlogy(weights - 1, x), axis=0) - normalizer
    inside = jnp.all(x >= 0, axis=0) & (jnp.abs(x.sum(axis=0) - 1) < 1e-6)
    return jnp.where(inside, log, -np.inf)


def dirichlet_logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of the density of the Dirichlet distribution.

    Args:
      x: points of the simplex, along the first axis; the last coordinate may be left out.
      alpha: the concentrations, of shape (k,).

    Returns:
      An array of floats of the shape of ``x`` without its first axis.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.stats import dirichlet
      >>> round(float(dirichlet.logpdf(np.float32([0.25, 0.75]), np.float32([2.0, 2.0]))), 4)
      0.1178

    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions 1, ch. 49.
    """
    return _dirichlet_logpdf(x, alpha)


def dirichlet_pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density of the Dirichlet distribution.

    Args:
      x, alpha: as for ``logpdf``.

    Returns:
      An array of floats of the shape of ``x`` without its first axis.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.stats import dirichlet
      >>> round(float(dirichlet.pdf(np.float32([0.25, 0.75]), np.float32([2.0, 2.0]))), 4)
      1.125
    """
    return jnp.exp(_dirichlet_logpdf(x, alpha))


def multinomial_logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probabilities of the multinomial distribution.

    Args:
      x: counts, along the last axis.
      n: how many trials; -inf results where the counts do not add up to it.
      p: the probabilities of the outcomes, along the last axis.

    Returns:
      An array of floats of the shape of ``x`` without its last axis.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.stats import multinomial
      >>> round(float(multinomial.logpmf(np.array([1, 2]), 3, np.float32([0.5, 0.5]))), 4)
      -0.9808

    Source: Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions, ch. 35.
    """
    (p,) = promote_args_inexact("multinomial.logpmf", p)
    x, n = (jnp.asarray(a).astype(p.dtype) for a in (x, n))
    log = special.gammaln(n + 1) + jnp.sum(special.xlogy(x, p) - special.gammaln(x + 1), axis=-1)
    return jnp.where(jnp.equal(jnp.sum(x, axis=-1), n), log, -np.inf)


def multinomial_pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probabilities of the multinomial distribution.

    Args:
      x, n, p: as for ``logpmf``.

    Returns:
      An array of floats of the shape of ``x`` without its last axis.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.stats import multinomial
      >>> round(float(multinomial.pmf(np.array([1, 2]), 3, np.float32([0.5, 0.5]))), 4)
      0.375
    """
    return jnp.exp(multinomial_logpmf(x, n, p))


def normal_logpdf(
    x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: bool | None = None
) -> Array:
    """The logarithm of the density of the multivariate normal distribution.

    Args:
      x: points, along the last axis.
      mean: a scalar or a vector, or several along leading axes.
      cov: the covariance: a scalar, or positive definite matrices.
      allow_singular: must be ``None``.

    Returns:
      An array of floats, of the leading axes of the arguments, broadcast.

    Raises:
      NotImplementedError: if ``allow_singular`` is given.
      ValueError: if the shapes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.stats import multivariate_normal
      >>> point, mean = np.float32([1.0, 0.0]), np.float32([0.0, 0.0])
      >>> round(float(multivariate_normal.logpdf(point, mean, np.eye(2, dtype=np.float32))), 4)
      -2.3379

    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions 1, ch. 45.
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "multivariate_normal.logpdf: allow_singular is not available; cov must be positive "
            "definite. Add a small multiple of the identity to it."
        )
    x, mean, cov = promote_dtypes_inexact(*map(jnp.asarray, (x, mean, cov)))
    if not mean.shape:
        return -0.5 * jnp.square(x - mean) / cov - 0.5 * (log(2 * pi) + jnp.log(cov))
    size = mean.shape[-1]
    if not cov.shape:
        squares = jnp.sum(jnp.square(x - mean), axis=-1) / cov
        return -0.5 * squares - 0.5 * size * (log(2 * pi) + jnp.log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (size, size):
        raise ValueError(
            f"multivariate_normal.logpdf: cov must be of shape (..., {size}, {size}) for mean of "
            f"shape {mean.shape}, got {cov.shape}."
        )
    difference = x - mean
    factor = lax_linalg.cholesky(cov)
    log_det = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    # With L Lᵀ = cov and d = x - mean, dᵀ cov⁻¹ d is |d L⁻ᵀ|². One matrix serves all points.
    rows = difference.reshape(-1, size)
    if cov.ndim > 2:
        lead = lax.broadcast_shapes(difference.shape[:-1], cov.shape[:-2])
        rows = jnp.broadcast_to(difference, (*lead, size))[..., None, :]
        factor = jnp.broadcast_to(factor, (*lead, size, size))
    solved = lax_linalg.triangular_solve(factor, rows, lower=True, transpose_a=True)
    solved = solved.reshape(difference.shape) if cov.ndim == 2 else solved[..., 0, :]
    squares = jnp.sum(jnp.square(solved), axis=-1)
    return -0.5 * squares - 0.5 * size * log(2 * pi) - log_det


def normal_pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density of the multivariate normal distribution.

    Args:
      x, mean, cov: as for ``logpdf``.

    Returns:
      An array of floats, of the leading axes of the arguments, broadcast.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.stats import multivariate_normal
      >>> point, mean = np.float32([1.0, 0.0]), np.float32([0.0, 0.0])
      >>> round(float(multivariate_normal.pdf(point, mean, np.eye(2, dtype=np.float32))), 4)
      0.0965
    """
    return jnp.exp(normal_logpdf(x, mean, cov))


dirichlet: ModuleType = module_of(
    "dirichlet", "Dirichlet distribution", logpdf=dirichlet_logpdf, pdf=dirichlet_pdf
)
multinomial: ModuleType = module_of(
    "multinomial", "multinomial distribution", logpmf=multinomial_logpmf, pmf=multinomial_pmf
)
multivariate_normal: ModuleType = module_of(
    "multivariate_normal", "multivariate normal distribution", logpdf=normal_logpdf, pdf=normal_pdf
)
