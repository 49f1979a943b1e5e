"""Polynomials through points, and the roots of polynomials."""

from typing import Literal, overload

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, dispatched, finfo
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import concrete_values
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.indexing._where import where_step
from ricci_numpy.linalg._decompositions import eigvals
from ricci_numpy.linalg._products import matmul
from ricci_numpy.linalg._solvers import inv, lstsq
from ricci_numpy.rearranging._moving import roll
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.sequences._triangles import eye
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import atleast_1d
from ricci_numpy.shapes._transposing import matrix_transpose
from ricci_numpy.ufuncs._binary import divide, multiply
from ricci_numpy.ufuncs._unary import sqrt

from ._polynomials import vander

__all__ = ["polyfit", "roots"]


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: ArrayLike | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: ArrayLike | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]: ...
@dispatched("deg", "full", "cov")
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: ArrayLike | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]:
    """The polynomial of a given degree that fits given values best, by least squares.

    Args:
      x: the points, a vector of at least one.
      y: the values there, a vector of as many or a matrix of as many rows.
      deg: the degree, not negative.
      rcond: singular values of the powers of ``x`` below ``rcond`` times the largest count as zero;
        by default the precision of ``x`` times its length.
      full: also return the sum of squared errors, the rank, the singular values and ``rcond``.
      w: weights of the errors, before they are squared: a vector of as many.
      cov: also return the estimated covariance of the coefficients; ``"unscaled"`` leaves out the
        factor estimated from the sum of squared errors. ``full`` has precedence.

    Returns:
      The coefficients, that of the highest power first, of shape ``(deg + 1,)``, or a matrix with a
      column for each of ``y``; with ``full`` or ``cov`` a tuple that begins with them.

    Raises:
      TypeError: if an operand is not an array or has another shape.
      ValueError: if ``deg`` is negative, or there are too few points for ``cov``.

    Example:
      >>> import ricci.numpy as jnp
      >>> found = jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1)
      >>> [round(c, 4) for c in found.tolist()]
      [2.0, 1.0]

    Source: numpy.polyfit.
    """
    deg = int(deg)
    weights = () if w is None else (w,)
    x, y, *weights = promotion.operands("polyfit", x, y, *weights)
    if deg < 0:
        raise ValueError(f"polyfit: the degree must not be negative, got deg={deg}.")
    shapes = {name: np.shape(v) for name, v in zip("xyw", (x, y, *weights), strict=False)}
    size = shapes["x"][0] if len(shapes["x"]) == 1 else 0
    for name, shape in shapes.items():
        if not size or shape[:1] != (size,) or len(shape) > (2 if name == "y" else 1):
            raise TypeError(
                f"polyfit: x and w must be vectors with elements, and y one as long or a matrix "
                f"of as many rows; got {', '.join(f'{n} of shape {s}' for n, s in shapes.items())}."
            )
    extras = "full" if full else None if not cov else "unscaled" if cov == "unscaled" else "scaled"
    if extras == "scaled" and size <= deg + 1:
        raise ValueError(
            f"polyfit: scaling the covariance of {deg + 1} coefficients takes more points than "
            f"{size}; give cov='unscaled', or more points."
        )
    if rcond is None:
        rcond = size * float(finfo(promotion.inexact_dtype(promotion.dtype_of(x))[0]).eps)
    settings = {"deg": deg, "extras": extras}
    if type(rcond) is float:
        # A setting needs no copy to the device.
        return _polyfit(x, y, None, *weights, cutoff=rcond, **settings)
    return _polyfit(x, y, *promotion.operands("polyfit", rcond), *weights, **settings)


@composite("polyfit")
def _polyfit(
    x: Array,
    y: Array,
    rcond: Array | None,
    w: Array | None = None,
    *,
    deg: int,
    extras: str | None,
    cutoff: float = 0.0,
) -> Array | tuple[Array, ...]:
    rcond = asarray(cutoff) if rcond is None else rcond
    (x,), (y,) = promotion.promote_dtypes_inexact(x), promotion.promote_dtypes_inexact(y)
    powers = vander(x, deg + 1)
    if w is not None:
        powers = multiply(powers, lax.expand_dims(w, (1,)))
        y = multiply(y, lax.expand_dims(w, (1,)) if np.ndim(y) == 2 else w)
    # Columns scaled to length 1 make the matrix of powers better conditioned.
    lengths = sqrt(sum(multiply(powers, powers), 0))
    powers = divide(powers, lax.expand_dims(lengths, (0,)))
    coefficients, residuals, rank, s = lstsq(powers, y, rcond)
    by_row = lax.expand_dims(lengths, (1,))
    coefficients = divide(coefficients, by_row if np.ndim(coefficients) == 2 else lengths)
    if extras is None:
        return coefficients
    if extras == "full":
        return coefficients, residuals, rank, s, rcond
    # The columns were scaled: A = P D. So (AᵀA)⁻¹ is D⁻¹ (PᵀP)⁻¹ D⁻¹, with the diagonal D.
    covariance = inv(matmul(matrix_transpose(powers), powers))
    covariance = divide(covariance, multiply(by_row, lax.expand_dims(lengths, (0,))))
    if extras == "unscaled":
        return coefficients, covariance
    scale = atleast_1d(divide(residuals, x.shape[0] - deg - 1))
    if np.ndim(y) == 1:
        return coefficients, multiply(covariance, lax.expand_dims(scale, (0,)))
    return coefficients, multiply(lax.expand_dims(covariance, (2,)), lax.expand_dims(scale, (0, 1)))


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial, as complex numbers.

    Args:
      p: a vector of coefficients, that of the highest power first.
      strip_zeros: whether leading zeros are left out, for which they must be concrete;
        otherwise, as for use under ``jit``, there is a NaN at the end for each.

    Returns:
      A vector of complex numbers.

    Raises:
      TypeError: if ``p`` is not an array.
      ValueError: if ``p`` is not a vector.
      ConcretizationTypeError: if ``p`` is traced and zeros are to be left out.

    Example:
      >>> import ricci.numpy as jnp
      >>> sorted(round(x.real, 4) for x in jnp.roots(jnp.array([1.0, -3.0, 2.0])).tolist())
      [1.0, 2.0]

    Source: numpy.roots.
    """
    (p,) = promotion.operands("roots", p)
    (p,) = promotion.promote_dtypes_inexact(p)
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError(f"roots: the coefficients must be a vector, got shape {p.shape}.")
    size = p.shape[0]
    if size < 2:
        return lax.full((0,), 0, _complex_dtype(p))
    if not strip_zeros:
        return _padded_roots(p)
    advice = "How many roots there are depends on values. Give roots strip_zeros=False."
    places = np.flatnonzero(concrete_values(p, advice))
    first = int(places[0]) if len(places) else size
    return _roots(p, first=first)


def _complex_dtype(x: Array) -> np.dtype:
    return np.result_type(x.dtype, np.complex64)


@composite("_roots_no_zeros")
def _roots(p: Array, *, first: int) -> Array:
    """The roots, where ``first`` is the place of the first coefficient that is not zero."""
    size = p.shape[0]
    if size - first < 2:
        return lax.full((0,), 0, _complex_dtype(p))
    return _eigenvalues(lax.slice_in_dim(p, first, size))


def _eigenvalues(p: Array) -> Array:
    """The eigenvalues of the matrix whose characteristic polynomial has these coefficients."""
    size = p.shape[0] - 1
    monic = lax.div(lax.neg(lax.slice_in_dim(p, 1, size + 1)), lax.slice_in_dim(p, 0, 1))
    return eigvals(concatenate([lax.expand_dims(monic, (0,)), eye(size - 1, size, dtype=p.dtype)]))


@composite("_roots_with_zeros")
def _padded_roots(p: Array) -> Array:
    """As many complex numbers as there are roots at most: zeros and NaNs last."""
    size, int32 = p.shape[0], np.dtype("int32")
    is_zero = lax.eq(p, promotion.strong_constant(p.dtype, 0))
    leading = lax.reduce_sum(lax.cumprod(lax.convert_element_type(is_zero, int32)), (0,))
    # Coefficients that are all zero would give a matrix of NaNs; ones take their place, and the
    # roots of these are replaced by NaN below.
    all_zero = lax.eq(leading, np.int32(size))
    # Leading zeros are rolled to the end, where each adds a root that is 0. Roots of 0 are sorted
    # to the end, and as many of them as there were leading zeros become NaN.
    eigenvalues = _eigenvalues(
        roll(where_step(all_zero, promotion.strong_constant(p.dtype, 1), p), lax.neg(leading))
    )
    _, eigenvalues = lax.sort(
        (lax.eq(eigenvalues, promotion.strong_constant(eigenvalues.dtype, 0)), eigenvalues),
        num_keys=1,
    )
    exists = lax.lt(lax.iota(int32, size - 1), lax.sub(np.int32(size - 1), leading))
    return where_step(
        exists, eigenvalues, promotion.strong_constant(eigenvalues.dtype, complex(np.nan, np.nan))
    )
