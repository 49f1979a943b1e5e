"""Rounding to decimals and whole numbers, and limiting to an interval."""

from operator import index

import numpy as np

import ricci_lax as lax
from ricci_ir import BOOL, Array, ArrayLike, composite, dispatched, python_scalar_dtype
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray

__all__ = ["around", "clip", "rint", "round", "trunc"]


@dispatched(integers=("min", "max"))
def clip(
    arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """The elements limited to an interval.

    Args:
      arr: an array of real numbers.
      min, max: the ends of the interval, arrays or scalars that broadcast with ``arr``; ``None``
        is no limit. Where they cross, the result is ``max``.

    Returns:
      An array of the broadcast shape and of the promoted dtype.

    Raises:
      TypeError: if an operand is not an array or scalar.
      ValueError: for complex numbers.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.clip(jnp.array([-1, 2, 9]), 0, 5).tolist()
      [0, 2, 5]
      >>> jnp.clip(jnp.array([-1, 2, 9]), max=5).tolist()
      [-1, 2, 5]
      >>> slope = ricci.grad(lambda x: jnp.clip(x, 0.0, 5.0))
      >>> float(slope(2.0)), float(slope(9.0))  # no gradient outside
      (1.0, 0.0)

    Source: numpy.clip.
    """
    if arr is None:
        raise ValueError("clip: the array to limit is missing.")
    arguments = promotion.operands("clip", *[x for x in (arr, min, max) if x is not None])
    return _clip(*arguments, lower=min is not None)


@composite("clip")
def _clip(arr: Array, *bounds: Array, lower: bool) -> Array:
    if any(x.dtype in promotion.COMPLEX_DTYPES for x in (arr, *bounds)):
        raise ValueError("clip is not defined for complex numbers: they have no order.")
    # Of bounds that cross, the upper one wins: it comes last. A single bound may be either.
    for i, bound in enumerate(bounds):
        limit = lax.max if i == 0 and lower else lax.min
        arr = limit(*promotion.promote_args("clip", bound, arr))
    return arr


@dispatched("decimals", "out")
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """The elements rounded to a number of decimals, halves to even.

    Args:
      a: an array.
      decimals: how many digits after the decimal point stay; negative for places before it.
      out: not supported.

    Returns:
      An array of the shape and dtype of ``a``.

    Raises:
      TypeError: if ``a`` is not an array or ``decimals`` is not an int.
      ValueError: for booleans.
      NotImplementedError: for integers and negative ``decimals``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.round(jnp.array([0.5, 1.5, 2.5])).tolist()  # halves to even
      [0.0, 2.0, 2.0]
      >>> jnp.round(jnp.array([123.0, 456.0]), -2).tolist()
      [100.0, 500.0]

    Source: numpy.round.
    """
    (a,) = promotion.operands("round", a)
    promotion.no_out("round", out)
    return _round(a, decimals=index(decimals))


@composite("round")
def _round(a: Array, *, decimals: int) -> Array:
    a = asarray(a)
    if a.dtype == BOOL:
        raise ValueError("round is not defined for booleans.")
    if a.dtype in promotion.INTEGER_DTYPES:
        if decimals < 0:
            raise NotImplementedError(
                "round: with decimals below 0, integers would have to be rounded to tens, which "
                "is not supported. Round a float."
            )
        return a
    if a.dtype in promotion.COMPLEX_DTYPES:
        return lax.complex(_rounded(lax.real(a), decimals), _rounded(lax.imag(a), decimals))
    return _rounded(a, decimals)


def _rounded(x: Array, decimals: int) -> Array:
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return lax.round(x, even)
    dtype = x.dtype
    # The power of ten, or its product with an element, may be infinite in a narrow dtype.
    if dtype.itemsize < 4:
        x = promotion.convert(x, np.dtype("float32"))
    factor = promotion.constant(x, 10.0**decimals)
    result = lax.div(lax.round(lax.mul(x, factor), even), factor)
    return result if result.dtype == dtype else promotion.convert(result, dtype)


@dispatched("decimals", "out")
def around(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """The elements rounded to a number of decimals; see ``round``.

    Args:
      a, decimals, out: as for ``round``.

    Returns:
      An array of the shape and dtype of ``a``.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.around(2.5))
      2.0

    Source: numpy.around.
    """
    return round(a, decimals, out)


@dispatched()
def rint(x: ArrayLike, /) -> Array:
    """The elements rounded to whole numbers, halves to even, as floats.

    Args:
      x: an array or a scalar.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.rint(3.5))
      4.0

    Source: numpy.rint.
    """
    (x,) = promotion.operands("rint", x)
    return _rint(x)


@composite("rint")
def _rint(x: Array) -> Array:
    if x.dtype not in promotion.INEXACT_DTYPES:
        return promotion.convert(x, python_scalar_dtype(float))
    return _round.fun(x, decimals=0)


@dispatched()
def trunc(x: ArrayLike) -> Array:
    """The elements rounded towards zero.

    Args:
      x: an array or a scalar of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.trunc(-1.7))
      -1.0

    Source: numpy.trunc.
    """
    (x,) = promotion.operands("trunc", x)
    return _trunc(x)


@composite("trunc")
def _trunc(x: Array) -> Array:
    if x.dtype not in promotion.INEXACT_DTYPES:
        return x
    return select_where(lax.lt(x, promotion.constant(x, 0)), lax.ceil(x), lax.floor(x), "trunc")
