"""Covariances and correlation coefficients."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, DTypeLike
from ricci_numpy import _promotion as promotion
from ricci_numpy.linalg._products import dot
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.reductions._kinds import accumulated_dtype
from ricci_numpy.reductions._moments import mean
from ricci_numpy.sequences._diagonals import diag
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import atleast_2d
from ricci_numpy.shapes._transposing import transpose
from ricci_numpy.ufuncs._binary import divide, multiply, subtract
from ricci_numpy.ufuncs._rounding import clip
from ricci_numpy.ufuncs._unary import abs, conj, sqrt

__all__ = ["corrcoef", "cov"]


@ir.dispatched("rowvar", "bias", "ddof", "dtype")
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The covariances of variables.

    Args:
      m: the observations of each variable in a row of a matrix; or those of one, a vector.
      y: more variables, with as many observations.
      rowvar: whether variables are in rows; else in columns.
      bias: whether to divide by the number of observations ``n``, rather than by ``n - 1``.
      ddof: the sums are divided by ``n - ddof``; it has precedence over ``bias``.
      fweights: how often each observation occurs, a vector of integers.
      aweights: the weight of each observation, a vector.
      dtype: the dtype of the result, a floating or complex one.

    Returns:
      A symmetric matrix, or a scalar for one variable.

    Raises:
      TypeError: if an operand is not an array, or ``fweights`` are not integers.
      ValueError: if ``m`` or ``y`` has more than 2 dimensions, their numbers of observations
        differ, or ``dtype`` is not floating or complex.
      RuntimeError: if the weights are not a vector with an element for each observation.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.cov(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
      [[1.0, -1.0], [-1.0, 1.0]]

    Source: numpy.cov.
    """
    m, y, fweights, aweights = _checked("cov", m, y, fweights, aweights)
    if fweights is not None and not _has_dtype(fweights, np.integer):
        raise TypeError("cov: fweights count observations, so they must be integers.")
    dtype = _result_dtype("cov", dtype)
    ddof = (0 if bias else 1) if ddof is None else ddof
    return _cov(m, y, fweights, aweights, rowvar=bool(rowvar), ddof=ddof, dtype=dtype)


def _has_dtype(x: ArrayLike, family: type[np.generic]) -> bool:
    return ir.issubdtype(promotion.common_dtype(x)[0], family)


def _checked(name: str, *args: ArrayLike | None) -> list[Any]:
    """The operands; all but the first may be ``None``, and the first two must be matrices."""
    checked: list[Any] = [
        x if x is None and i else promotion.operands(name, x)[0] for i, x in enumerate(args)
    ]
    for x in checked[:2]:
        if x is not None and np.ndim(x) > 2:
            raise ValueError(f"{name}: the observations must be a matrix, got {np.shape(x)}.")
    return checked


def _result_dtype(name: str, dtype: DTypeLike | None) -> np.dtype | None:
    """The requested dtype, checked."""
    if dtype is None:
        return None
    result_dtype = ir.explicit_dtype(dtype, name)
    if result_dtype not in promotion.INEXACT_DTYPES:
        raise ValueError(f"{name}: dtype must be a floating or complex one, got {dtype}.")
    return result_dtype


@ir.composite("cov")
def _cov(m: Array, *arrays: Array | None, rowvar: bool, ddof: int, dtype: np.dtype | None) -> Array:
    result, result_dtype = _wide_covariances(m, *arrays, rowvar=rowvar, ddof=ddof, dtype=dtype)
    return promotion.convert(result, result_dtype)


def _wide_covariances(
    m: Array,
    y: Array | None,
    fweights: Array | None,
    aweights: Array | None,
    *,
    rowvar: bool,
    ddof: int,
    dtype: np.dtype | None,
) -> tuple[Array, np.dtype]:
    """The covariances, those of float16 in float32; and the dtype of the result."""
    arrays = promotion.promote_dtypes_inexact(*(x for x in (m, y) if x is not None))
    if dtype is not None:
        arrays = [promotion.convert(x, dtype) for x in arrays]
    computed = accumulated_dtype(arrays[0].dtype)
    weights = [x for x in (fweights, aweights) if x is not None]
    result_dtype = promotion.common_dtype(arrays[0], *weights)[0]
    arrays = [promotion.convert(x, computed) for x in arrays]
    return _covariances(arrays, fweights, aweights, rowvar, ddof), result_dtype


def _covariances(
    arrays: Sequence[Array], fweights: Array | None, aweights: Array | None, rowvar: bool, ddof: int
) -> Array:
    variables = [atleast_2d(x) for x in arrays]
    if not rowvar:
        pairs = zip(variables, arrays, strict=True)
        # A vector is one variable, in rows or in columns.
        variables = [x if np.ndim(v) == 1 else transpose(x) for x, v in pairs]
    if len({x.shape[1] for x in variables}) > 1:
        sizes = " and ".join(str(x.shape[1]) for x in variables)
        raise ValueError(f"cov: m and y have different numbers of observations, {sizes}.")
    x = concatenate(variables, 0) if len(variables) > 1 else variables[0]
    if not x.shape[1]:
        nan = promotion.strong_constant(x.dtype, np.nan)
        return lax.full(() if x.shape[0] == 1 else (x.shape[0],) * 2, nan)
    weights = _weights(x, fweights, aweights)
    if weights is None:
        average = mean(x, 1)
        total = promotion.strong_constant(x.dtype, x.shape[1])
        freedom = promotion.strong_constant(x.dtype, x.shape[1] - ddof)
    else:
        total = sum(weights)
        if aweights is not None and not _has_dtype(weights, np.inexact):
            total = promotion.convert(total, x.dtype)
        average = divide(sum(multiply(x, lax.expand_dims(weights, (0,))), 1), total)
        freedom = _freedom(total, weights, aweights, ddof)
    # Rows are variables and columns observations: the covariances are the products of the centred
    # rows with each other, weighted, over the degrees of freedom.
    x, average = promotion.promote_dtypes(x, average)
    x = lax.sub(x, lax.expand_dims(average, (1,)))
    weighted = x if weights is None else multiply(x, lax.expand_dims(weights, (0,)))
    covariances = divide(dot(x, conj(transpose(weighted))), freedom)
    return lax.squeeze(covariances, (0, 1)) if covariances.shape == (1, 1) else covariances


def _weights(x: Array, fweights: Array | None, aweights: Array | None) -> Array | None:
    """The weight of each observation, as a vector; ``None`` if all are equal."""
    product = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if np.shape(weights) != (x.shape[1],):
            raise RuntimeError(
                f"cov: {name} must be a vector of one for each of {x.shape[1]} observations, got "
                f"shape {np.shape(weights)}."
            )
        product = abs(weights) if product is None else multiply(product, abs(weights))
    return product


def _freedom(total: Array, weights: Array, aweights: Array | None, ddof: int) -> Array:
    """Degrees of freedom: the divisor of the weighted sum of products."""
    if not ddof:
        return total
    if aweights is None:
        return subtract(total, ddof)
    # For weights w, of which a are the reliabilities: Σw - ddof Σ(w a) / Σw.
    return subtract(total, divide(multiply(ddof, sum(multiply(weights, abs(aweights)))), total))


@ir.dispatched("rowvar", "dtype")
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """The correlation coefficients of variables: covariances over products of deviations.

    Args:
      x, y, rowvar, dtype: see ``cov``.

    Returns:
      A symmetric matrix with ones on the diagonal, or a scalar for one variable.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: as for ``cov``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.corrcoef(jnp.array([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]])).tolist()
      [[1.0, -1.0], [-1.0, 1.0]]

    Source: numpy.corrcoef.
    """
    x, y = _checked("corrcoef", x, y)
    return _corrcoef(x, y, rowvar=bool(rowvar), dtype=_result_dtype("corrcoef", dtype))


@ir.composite("corrcoef")
def _corrcoef(x: Array, y: Array | None, *, rowvar: bool, dtype: np.dtype | None) -> Array:
    coefficients, result_dtype = _wide_covariances(
        x, y, None, None, rowvar=rowvar, ddof=1, dtype=dtype
    )
    return promotion.convert(_normalized(coefficients), result_dtype)


def _normalized(coefficients: Array) -> Array:
    """The quotients of covariances and the products of deviations."""
    # The coefficient of a variable with itself: 1, or NaN if it is constant.
    if not coefficients.ndim:
        return divide(coefficients, coefficients)
    deviations = sqrt(
        lax.real(diag(coefficients))
        if coefficients.dtype in promotion.COMPLEX_DTYPES
        else diag(coefficients)
    )
    deviations = promotion.convert(deviations, coefficients.dtype)
    coefficients = divide(coefficients, lax.expand_dims(deviations, (1,)))
    coefficients = divide(coefficients, lax.expand_dims(deviations, (0,)))
    # Rounding must not make a coefficient greater than 1.
    if coefficients.dtype in promotion.COMPLEX_DTYPES:
        return lax.complex(clip(lax.real(coefficients), -1, 1), clip(lax.imag(coefficients), -1, 1))
    return clip(coefficients, -1, 1)
