"""Estimates of densities by Gaussian kernels."""

from collections.abc import Callable, Sequence
from math import log, pi
from typing import Any, NoReturn, Self

import numpy as np

import ricci_lax.linalg as lax_linalg
import ricci_numpy as jnp
import ricci_random as random
from ricci_ir import Array, ArrayLike, Shape, inlined
from ricci_numpy.authoring import promote_dtypes_inexact
from ricci_pytree import register_pytree_node_class
from ricci_scipy import special

from ._continuous import norm

__all__ = ["gaussian_kde"]


@register_pytree_node_class
class gaussian_kde:
    """An estimate of the density that a sample was drawn from: a sum of normal densities.

    Args:
      dataset: the sample, of shape (n,) or (dimensions, n).
      bw_method: the width of the kernels, as a factor of the sample's own: ``"scott"``, which is
        the default, ``"silverman"``, a number, or a function of the estimate.
      weights: of the points, of shape (n,).

    Raises:
      NotImplementedError: for a sample of complex numbers.
      ValueError: if the sample has a single element, or shapes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import stats
      >>> density = stats.gaussian_kde(np.float32([-1.0, 0.0, 1.0]))
      >>> round(float(density(0.0)[0]), 4)
      0.3182

    Source: Scott, Multivariate Density Estimation, 1992.
    """

    dataset: Array
    weights: Array
    covariance: Array
    inv_cov: Array

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: "str | ArrayLike | Callable[[gaussian_kde], ArrayLike] | None" = None,
        weights: ArrayLike | None = None,
    ):
        dataset = jnp.atleast_2d(jnp.asarray(dataset))
        if jnp.iscomplexobj(dataset):
            raise NotImplementedError("gaussian_kde: dataset must be real.")
        if dataset.size <= 1:
            raise ValueError("gaussian_kde: dataset must have more than one element.")
        (self.dataset,) = promote_dtypes_inexact(dataset)
        d, n = self.dataset.shape
        if weights is None:
            self.weights = jnp.full(n, 1 / n, self.dataset.dtype)
        else:
            weights = jnp.asarray(weights)
            if weights.shape != (n,):
                raise ValueError(
                    f"gaussian_kde: weights must be of shape ({n},), one for each point of "
                    f"dataset, got {weights.shape}."
                )
            self.dataset, weights = promote_dtypes_inexact(self.dataset, weights)
            self.weights = weights / jnp.sum(weights)
        self._set_width(_width(self, bw_method))

    def _set_width(self, factor: ArrayLike) -> None:
        widths = _covariance(self.dataset, self.weights, jnp.asarray(factor))
        self.covariance, self.inv_cov = widths

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    @property
    def neff(self) -> Array:
        """The effective sample size: the number of equally weighted points of the same variance."""
        return 1 / jnp.sum(self.weights**2)

    def set_bandwidth(self, bw_method: object = None) -> NoReturn:
        """Not available, since an estimate does not change: make another one with ``bw_method``."""
        raise NotImplementedError(
            "gaussian_kde: the bandwidth of an estimate does not change. Make another one: "
            "gaussian_kde(dataset, bw_method)."
        )

    def tree_flatten(self) -> tuple[tuple[Array, ...], None]:
        """The arrays of the estimate, which are all its data."""
        return (self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Sequence[Any]) -> Self:
        """Make an estimate from the arrays that ``tree_flatten`` returned."""
        estimate = object.__new__(cls)
        estimate.dataset, estimate.weights, estimate.covariance, estimate.inv_cov = children
        return estimate

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points of shape (n,) or (dimensions, n)."""
        return jnp.exp(self.logpdf(points))

    __call__ = evaluate
    pdf = evaluate

    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density at points of shape (n,) or (dimensions, n)."""
        points = self._points(x)
        return _log_density(self.dataset, self.weights, self.inv_cov, points)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the product of the density and a normal density.

        Args:
          mean: of shape (dimensions,).
          cov: of shape (dimensions, dimensions).
        """
        mean, cov = jnp.atleast_1d(jnp.squeeze(jnp.asarray(mean))), jnp.atleast_2d(jnp.asarray(cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: mean and cov must be of shapes ({self.d},) and "
                f"({self.d}, {self.d}), got {mean.shape} and {cov.shape}."
            )
        return self._overlap(mean[:, None], jnp.ones(1, self.dataset.dtype), cov)

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The probability between two numbers, of an estimate in one dimension."""
        if self.d != 1:
            raise ValueError(
                f"gaussian_kde.integrate_box_1d: the estimate has {self.d} dimensions, not one."
            )
        low, high = (jnp.squeeze(jnp.asarray(x)) for x in (low, high))
        if low.ndim or high.ndim:
            raise ValueError("gaussian_kde.integrate_box_1d: low and high must be scalars.")
        scale = jnp.sqrt(self.covariance[0, 0])
        masses = norm.cdf(high, self.dataset[0], scale) - norm.cdf(low, self.dataset[0], scale)
        return jnp.sum(self.weights * masses)

    def integrate_kde(self, other: "gaussian_kde") -> Array:
        """The integral of the product of the density and that of another estimate."""
        if other.d != self.d:
            raise ValueError(
                f"gaussian_kde.integrate_kde: the estimates have {self.d} and {other.d} dimensions."
            )
        return self._overlap(other.dataset, other.weights, other.covariance)

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None
    ) -> NoReturn:
        """Not available; ``integrate_box_1d`` integrates in one dimension."""
        raise NotImplementedError(
            "gaussian_kde.integrate_box is not available; integrate_box_1d is, in one dimension."
        )

    def resample(self, key: Array, shape: Shape = ()) -> Array:
        """Draw points from the density.

        Args:
          key: a random key.
          shape: of the sample.

        Returns:
          An array of shape ``(dimensions, *shape)``.
        """
        # A sum of densities is drawn from in two steps: first one of the kernels, by its weight,
        # then a point of that kernel.
        choice, noise = random.split(key)
        places = random.choice(choice, self.n, shape=shape, p=self.weights)
        steps = random.multivariate_normal(
            noise, jnp.zeros(self.d, self.dataset.dtype), self.covariance, shape=shape
        )
        return self.dataset[:, places] + jnp.moveaxis(steps, -1, 0)

    def _points(self, points: ArrayLike) -> Array:
        columns = jnp.atleast_2d(jnp.asarray(points))
        d, n = columns.shape
        if d != self.d:
            if (d, n) != (1, self.d):
                raise ValueError(
                    f"gaussian_kde: points have {d} dimensions, and the estimate {self.d}."
                )
            columns = columns.reshape(self.d, 1)
        return promote_dtypes_inexact(columns, self.dataset)[0]

    def _overlap(self, points: Array, weights: Array, covariance: Array) -> Array:
        """The integral of the density times Gaussian kernels of ``covariance`` at ``points``."""
        # The product of two normal densities has as integral the normal density of the distance of
        # their means, with the sum of their covariances. For that sum L Lᵀ, the squared length of
        # L⁻¹ (x - y) is the exponent, and L's diagonal gives the square root of the determinant.
        factor = lax_linalg.cholesky(self.covariance + covariance)
        solve = lambda a: lax_linalg.triangular_solve(factor, a, left_side=True, lower=True)
        ours, theirs = (solve(a.astype(factor.dtype)) for a in (self.dataset, points))
        squares = jnp.sum((ours[:, :, None] - theirs[:, None, :]) ** 2, axis=0)
        total = self.weights @ jnp.exp(-0.5 * squares) @ weights
        scale = float((2 * np.pi) ** (self.d / 2))
        return total / (scale * jnp.prod(jnp.diagonal(factor)))


def _width(
    kde: gaussian_kde, bw_method: str | ArrayLike | Callable[[gaussian_kde], ArrayLike] | None
) -> ArrayLike:
    """The factor by which the covariance of the sample is scaled, before squaring."""
    # Both rules minimize the expected squared error for a normal density in d dimensions, to
    # leading order; Scott's omits the constant. Weighted points count as the effective size of the
    # sample.
    if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
        return jnp.power(kde.neff, -1.0 / (kde.d + 4))
    if isinstance(bw_method, str):
        if bw_method != "silverman":
            raise ValueError(
                "gaussian_kde: bw_method must be 'scott', 'silverman', a number or a function, got "
                f"{bw_method!r}."
            )
        return jnp.power(kde.neff * (kde.d + 2) / 4.0, -1.0 / (kde.d + 4))
    return bw_method(kde) if callable(bw_method) else bw_method


@inlined("gaussian_kde.covariance")
def _covariance(dataset: Array, weights: Array, factor: Array) -> tuple[Array, Array]:
    """The covariance of the kernels, and its inverse."""
    covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, aweights=weights))
    factor = jnp.squeeze(factor).astype(dataset.dtype)
    return covariance * factor**2, jnp.linalg.inv(covariance) / factor**2


@inlined("gaussian_kde.logpdf")
def _log_density(dataset: Array, weights: Array, inverse: Array, points: Array) -> Array:
    # With inv_cov = L Lᵀ the exponent of a kernel is the squared length of Lᵀ (x - center), and the
    # determinant of its covariance is that of L to the power -2. The sum of kernels is computed
    # from logarithms, so that the density far from all of the points does not underflow.
    factor = lax_linalg.cholesky(inverse)
    centers, places = (jnp.matmul(factor.T, a) for a in (dataset, points))
    squares = jnp.sum((centers[:, :, None] - places[:, None, :]) ** 2, axis=0)
    log_sum = special.logsumexp(-0.5 * squares, axis=0, b=weights[:, None])
    log_det = jnp.sum(jnp.log(jnp.diagonal(factor)))
    return log_sum + log_det - 0.5 * dataset.shape[0] * log(2 * pi)
