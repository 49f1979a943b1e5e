"""Cumulative sums and products."""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import INEXACT_DTYPES, convert, no_out, operands, strong_constant
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray, chosen_dtype

from ._kinds import sum_dtype
from ._reduced_axes import reduced_axes

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum"]


def _running(
    name: str,
    a: ir.ArrayLike,
    axis: int | None,
    dtype: np.dtype | None,
    operation: Callable[[ir.Array, int], ir.Array],
    neutral_for_nan: int | None = None,
    promote_integers: bool = False,
) -> ir.Array:
    (a,) = operands(name, a)
    a = asarray(a)
    if axis is not None:
        (axis,) = reduced_axes(name, index(axis), a.ndim)
    if dtype is None:
        dtype = sum_dtype(a.dtype, promote_integers or a.dtype == ir.BOOL)
    settings = {"axis": axis, "dtype": dtype, "neutral": neutral_for_nan}
    return (_cumsum if operation is lax.cumsum else _cumprod)(a, **settings)


@ir.composite("cumsum")
def _cumsum(a: ir.Array, **settings: Any) -> ir.Array:
    return _run(a, lax.cumsum, **settings)


@ir.composite("cumprod")
def _cumprod(a: ir.Array, **settings: Any) -> ir.Array:
    return _run(a, lax.cumprod, **settings)


def _run(
    a: ir.Array,
    operation: Callable[[ir.Array, int], ir.Array],
    *,
    axis: int | None,
    dtype: np.dtype,
    neutral: int | None,
) -> ir.Array:
    if axis is None:
        a = lax.reshape(a, (a.size,)) if a.ndim != 1 else a
        axis = 0
    if neutral is not None and a.dtype in INEXACT_DTYPES:
        a = select_where(lax.ne(a, a), strong_constant(a.dtype, neutral), a)
    if dtype == ir.BOOL:
        # The sum of booleans is their disjunction, and the product their conjunction: both are
        # whether that of the numbers 0 and 1 is not 0.
        a = convert(convert(a, ir.BOOL), ir.python_scalar_dtype(int))
        return convert(operation(a, axis), ir.BOOL)
    return operation(convert(a, dtype), axis)


@ir.dispatched("axis", "dtype", "out")
def cumsum(
    a: ir.ArrayLike, axis: int | None = None, dtype: ir.DTypeLike | None = None, out: None = None
) -> ir.Array:
    """The sums of the elements so far, along an axis.

    Args:
      a: an array; booleans count as integers.
      axis: the axis; without it, the array is flattened.
      dtype: the dtype of the sums.
      out: not supported.

    Returns:
      An array of the shape of ``a``, or a vector of its size without ``axis``.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if the axis is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[1, 2, 3], [4, 5, 6]])
      >>> jnp.cumsum(x, axis=1).tolist()
      [[1, 3, 6], [4, 9, 15]]
      >>> jnp.cumsum(x).tolist()
      [1, 3, 6, 10, 15, 21]
      >>> jnp.cumsum(x[:, ::-1], axis=1)[:, ::-1].tolist()  # from the end
      [[6, 5, 3], [15, 11, 6]]

    See also:
      ``lax.associative_scan``, for other operations; ``lax.scan``, with a state.

    Source: numpy.cumsum.
    """
    no_out("cumsum", out)
    return _running("cumsum", a, axis, chosen_dtype(dtype, "cumsum"), lax.cumsum)


@ir.dispatched("axis", "dtype", "out")
def cumprod(
    a: ir.ArrayLike, axis: int | None = None, dtype: ir.DTypeLike | None = None, out: None = None
) -> ir.Array:
    """The products of the elements so far, along an axis; see ``cumsum``.

    Args:
      a, axis, dtype, out: as for ``cumsum``.

    Returns:
      An array of the shape of ``a``, or a vector without ``axis``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.cumprod(jnp.array([1, 2, 3])).tolist()
      [1, 2, 6]

    Source: numpy.cumprod.
    """
    no_out("cumprod", out)
    return _running("cumprod", a, axis, chosen_dtype(dtype, "cumprod"), lax.cumprod)


@ir.dispatched("axis", "dtype", "out")
def nancumsum(
    a: ir.ArrayLike, axis: int | None = None, dtype: ir.DTypeLike | None = None, out: None = None
) -> ir.Array:
    """The sums of the elements so far, NaN counting as 0; see ``cumsum``.

    Args:
      a, axis, dtype, out: as for ``cumsum``.

    Returns:
      An array of the shape of ``a``, or a vector without ``axis``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.nancumsum(jnp.array([1.0, jnp.nan, 3.0])).tolist()
      [1.0, 1.0, 4.0]

    Source: numpy.nancumsum.
    """
    no_out("nancumsum", out)
    return _running("nancumsum", a, axis, chosen_dtype(dtype, "nancumsum"), lax.cumsum, 0)


@ir.dispatched("axis", "dtype", "out")
def nancumprod(
    a: ir.ArrayLike, axis: int | None = None, dtype: ir.DTypeLike | None = None, out: None = None
) -> ir.Array:
    """The products of the elements so far, NaN counting as 1; see ``cumsum``.

    Args:
      a, axis, dtype, out: as for ``cumsum``.

    Returns:
      An array of the shape of ``a``, or a vector without ``axis``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0])).tolist()
      [2.0, 2.0, 6.0]

    Source: numpy.nancumprod.
    """
    no_out("nancumprod", out)
    return _running("nancumprod", a, axis, chosen_dtype(dtype, "nancumprod"), lax.cumprod, 1)


def _cumulative(
    name: str,
    x: ir.ArrayLike,
    axis: int | None,
    dtype: ir.DTypeLike | None,
    include_initial: bool,
    operation: Callable[[ir.Array, int], ir.Array],
    initial: int,
) -> ir.Array:
    (x,) = operands(name, x)
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError(f"{name}: a scalar has no axis to go along.")
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"{name}: give the axis of an array of {x.ndim} dimensions.")
        axis = 0
    (axis,) = reduced_axes(name, index(axis), x.ndim)
    # Sums of short integers are taken as default integers, products are not.
    wide = operation is lax.cumsum
    result = _running(name, x, axis, chosen_dtype(dtype, name), operation, promote_integers=wide)
    if not include_initial:
        return result
    # One more element along the axis: the sum, or the product, of none.
    shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    first = lax.full(shape, ir.exact_scalar(initial, result.dtype))
    return lax.concatenate([first, result], axis)


@ir.dispatched("axis", "dtype", "include_initial")
def cumulative_sum(
    x: ir.ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: ir.DTypeLike | None = None,
    include_initial: bool = False,
) -> ir.Array:
    """The sums of the elements so far, along an axis.

    Args:
      x: an array; short integers are summed as default integers.
      axis: the axis; a vector needs none.
      dtype: the dtype of the sums.
      include_initial: whether the result begins with the sum of nothing, 0.

    Returns:
      An array of the shape of ``x``, longer by 1 along the axis with ``include_initial``.

    Raises:
      ValueError: if the axis is missing or out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True).tolist()
      [0, 1, 3, 6]

    Source: numpy.cumulative_sum.
    """
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial, lax.cumsum, 0)


def cumulative_prod(
    x: ir.ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: ir.DTypeLike | None = None,
    include_initial: bool = False,
) -> ir.Array:
    """The products of the elements so far, along an axis; see ``cumulative_sum``.

    Args:
      x, axis, dtype: as for ``cumulative_sum``.
      include_initial: whether the result begins with the product of nothing, 1.

    Returns:
      An array of the shape of ``x``, longer by 1 along the axis with ``include_initial``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True).tolist()
      [1, 1, 2, 6]

    Source: numpy.cumulative_prod.
    """
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial, lax.cumprod, 1)
