"""Polynomials by their coefficients, that of the highest power first."""

from operator import index

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape, concrete_values
from ricci_numpy.linalg._decompositions import eigvals
from ricci_numpy.rearranging._moving import trim_zeros
from ricci_numpy.shapes._reshaping import atleast_1d
from ricci_numpy.ufuncs._arithmetic import power

from ._convolution import convolve

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval"]
__all__ += ["vander"]


@ir.dispatched()
def poly(seq_of_zeros: ir.ArrayLike) -> ir.Array:
    """The coefficients of the polynomial with given roots, and 1 before the highest power.

    Args:
      seq_of_zeros: a vector of roots, or a square matrix, whose characteristic polynomial is meant.

    Returns:
      A vector of coefficients, that of the highest power first.

    Raises:
      ValueError: for arrays of other shapes.
      TypeError: if it is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.poly(jnp.array([1.0, 2.0])).tolist()
      [1.0, -3.0, 2.0]

    Source: numpy.poly.
    """
    (roots,) = promotion.operands("poly", seq_of_zeros)
    shape = np.shape(roots)
    if len(shape) == 2 and (shape[0] != shape[1] or not shape[0]) or len(shape) > 2:
        raise ValueError(f"poly: give a vector of roots or a square matrix, got shape {shape}.")
    return _poly(roots)


@ir.composite("poly")
def _poly(roots: ir.Array) -> ir.Array:
    (roots,) = promotion.promote_dtypes_inexact(roots)
    roots = eigvals(roots) if np.ndim(roots) == 2 else atleast_1d(roots)
    if not roots.size:
        return lax.full((), promotion.strong_constant(roots.dtype, 1))
    zero, one = (promotion.strong_constant(roots.dtype, x) for x in (0, 1))
    # The vector 1, 0, …, 0 of the final length; multiplying by (x - root) keeps the degree within
    # it.
    start = lax.pad(lax.full((1,), one), zero, ((0, roots.size, 0),))

    def with_root(coefficients: ir.Array, root: ir.Array) -> tuple[ir.Array, None]:
        # Shifted by one place to lower powers: p·(x − r) has the coefficients p[i] − r·p[i − 1].
        lower = lax.pad(coefficients, zero, ((1, -1, 0),))
        return lax.sub(coefficients, lax.mul(lower, root)), None

    return lax.scan(with_root, start, roots)[0]


def _coefficients(
    name: str, *polynomials: ir.ArrayLike, error: type[Exception] = TypeError, rank: int | None = 1
) -> list[ir.Array]:
    """The operands, checked to be vectors, or arrays of any rank but 0 if ``rank`` is ``None``."""
    coefficients = promotion.operands(name, *polynomials)
    for p in coefficients:
        if not np.ndim(p):
            raise error(f"{name}: the coefficients must be a vector, got the scalar {p}.")
        if rank is not None and np.ndim(p) != rank:
            raise ValueError(f"{name}: the coefficients must be a vector, got {np.shape(p)}.")
    return coefficients


def _zero(x: ir.Array) -> ir.ArrayLike:
    return promotion.strong_constant(ir.get_aval(x).dtype, 0)


@ir.dispatched()
def polyadd(a1: ir.ArrayLike, a2: ir.ArrayLike) -> ir.Array:
    """The sum of two polynomials.

    Args:
      a1, a2: vectors of coefficients.

    Returns:
      A vector of coefficients, that of the highest power first.

    Raises:
      TypeError: if an operand is not an array.
      IndexError: if one is a scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.polyadd(jnp.array([1, 2, 3]), jnp.array([4, 5])).tolist()
      [1, 6, 8]

    Source: numpy.polyadd.
    """
    return _polyadd(*_coefficients("polyadd", a1, a2, error=IndexError, rank=None))


@ir.composite("polyadd")
def _polyadd(a1: ir.Array, a2: ir.Array) -> ir.Array:
    a1, a2 = promotion.promote_dtypes(a1, a2)
    # The highest power is first, so the shorter polynomial is padded in front.
    size, zero = ir.max_dim(np.shape(a1)[0], np.shape(a2)[0]), promotion.constant_like(a1, 0)
    for_others = ((0, 0, 0),) * (np.ndim(a1) - 1)
    padded = [lax.pad(x, zero, ((size - np.shape(x)[0], 0, 0), *for_others)) for x in (a1, a2)]
    return lax.add(*padded)


@ir.dispatched()
def polysub(a1: ir.ArrayLike, a2: ir.ArrayLike) -> ir.Array:
    """The difference of two polynomials; see ``polyadd``.

    Args:
      a1, a2: vectors of coefficients.

    Returns:
      A vector of coefficients.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.polysub(jnp.array([1, 2, 3]), jnp.array([4, 5])).tolist()
      [1, -2, -2]

    Source: numpy.polysub.
    """
    return _polysub(*_coefficients("polysub", a1, a2, error=IndexError, rank=None))


@ir.composite("polysub")
def _polysub(a1: ir.Array, a2: ir.Array) -> ir.Array:
    a1, a2 = promotion.promote_dtypes(a1, a2)
    return _polyadd(a1, lax.neg(a2))


def polymul(a1: ir.ArrayLike, a2: ir.ArrayLike, *, trim_leading_zeros: bool = False) -> ir.Array:
    """The product of two polynomials.

    Args:
      a1, a2: vectors of coefficients; integers become floats.
      trim_leading_zeros: whether to leave out leading zeros first, as NumPy does; the values of
        the operands must be concrete then.

    Returns:
      A vector of coefficients.

    Raises:
      TypeError: if an operand is not an array, or a scalar.
      ValueError: if one has a rank above 1.
      ConcretizationTypeError: if zeros are to be left out of a traced array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.polymul(jnp.array([1.0, 2.0]), jnp.array([1.0, -2.0])).tolist()
      [1.0, 0.0, -4.0]

    Source: numpy.polymul.
    """
    a1, a2 = promotion.promote_dtypes_inexact(*_coefficients("polymul", a1, a2))
    if trim_leading_zeros:
        a1, a2 = trim_zeros(a1, "f"), trim_zeros(a2, "f")
    a1, a2 = (x if np.shape(x)[0] else lax.full((1,), _zero(x)) for x in (a1, a2))
    return convolve(a1, a2)


def polydiv(
    u: ir.ArrayLike, v: ir.ArrayLike, *, trim_leading_zeros: bool = False
) -> tuple[ir.Array, ir.Array]:
    """The quotient and the remainder of two polynomials.

    Args:
      u, v: vectors of coefficients, of the dividend and the divisor; integers become floats.
      trim_leading_zeros: whether to leave leading zeros out of the remainder, as NumPy does; the
        values of the operands must be concrete then.

    Returns:
      The quotient and the remainder; without leaving out zeros, the latter is as long as ``u``.

    Raises:
      TypeError: if an operand is not an array, or a scalar.
      ValueError: if one has a rank above 1.
      IndexError: if ``v`` is empty.
      ConcretizationTypeError: if zeros are to be left out of a traced array.

    Example:
      >>> import ricci.numpy as jnp
      >>> quotient, remainder = jnp.polydiv(jnp.array([1.0, 3.0, 4.0]), jnp.array([1.0, 1.0]))
      >>> quotient.tolist(), remainder.tolist()
      ([1.0, 2.0], [0.0, 0.0, 2.0])

    Source: numpy.polydiv.
    """
    u, v = _coefficients("polydiv", u, v)
    if not np.shape(v)[0]:
        raise IndexError("polydiv: the divisor has no coefficients.")
    quotient, remainder = _polydiv(u, v)
    if not trim_leading_zeros:
        return quotient, remainder
    # Coefficients as small as rounding errors count as zeros.
    advice = "How long the remainder is depends on values; polydiv(...) alone keeps the zeros."
    large = np.abs(concrete_values(remainder, advice)) > np.sqrt(ir.finfo(remainder.dtype).eps)
    first = int(np.argmax(large)) if large.any() else len(large)
    return quotient, lax.slice_in_dim(remainder, first, None)


@ir.composite("polydiv")
def _polydiv(u: ir.Array, v: ir.Array) -> tuple[ir.Array, ir.Array]:
    u, v = promotion.promote_dtypes_inexact(u, v)
    count = np.shape(u)[0] - np.shape(v)[0] + 1
    if count < 1:
        return lax.full((1,), _zero(u)), u
    # Long division: each step removes the highest remaining power of the remainder, whose length
    # stays.
    scale = lax.div(promotion.strong_constant(u.dtype, 1), lax.index_in_dim(v, 0, keepdims=False))

    def divide(remainder: ir.Array, place: ir.Array) -> tuple[ir.Array, ir.Array]:
        top = lax.dynamic_slice(remainder, (place,), v.shape)
        factor = lax.mul(scale, lax.index_in_dim(top, 0, keepdims=False))
        difference = lax.sub(top, lax.mul(factor, v))
        after = lax.dynamic_update_slice(remainder, difference, (place,))
        return promotion.convert(after, remainder.dtype, remainder.weak_type), factor

    remainder, quotient = lax.scan(divide, u, lax.iota(np.dtype("int32"), count))
    return quotient, remainder


@ir.dispatched("unroll")
def polyval(p: ir.ArrayLike, x: ir.ArrayLike, *, unroll: int | None = None) -> ir.Array:
    """The values of a polynomial, by Horner's rule.

    Args:
      p: the coefficients, a vector; or an array, for polynomials along its leading dimension.
      x: where to evaluate it, an array that broadcasts with the rest of ``p``.
      unroll: how many steps of the loop to write out; see ``lax.polynomial``.

    Returns:
      An array of the broadcast shape.

    Raises:
      TypeError: if an operand is not an array.
      IndexError: if ``p`` is a scalar.
      ValueError: if the shapes do not broadcast.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.polyval(jnp.array([1, 2, 3]), jnp.array([0, 10])).tolist()
      [3, 123]

    Source: numpy.polyval.
    """
    (x,) = promotion.operands("polyval", x)
    (p,) = _coefficients("polyval", p, error=IndexError, rank=None)
    return _polyval(p, x, unroll=unroll)


@ir.composite("polyval")
def _polyval(p: ir.Array, x: ir.Array, *, unroll: int | None) -> ir.Array:
    p, x = promotion.promote_dtypes(p, x)
    shape = broadcast_shape("polyval", np.shape(p)[1:], np.shape(x))
    x = broadcast(promotion.convert(x, x.dtype), shape)
    if ir.is_symbolic_dim(p.shape[0]):
        step = lambda y, c: (lax.add(lax.mul(y, x), broadcast(c, shape)), None)
        return lax.scan(step, lax.full_like(x, 0), p, unroll=unroll or 1)[0]
    coefficients = reversed(lax.unstack(p, 0)) if p.shape[0] else ()
    return lax.polynomial(
        x, [broadcast(c, shape) if np.ndim(c) else c for c in coefficients], unroll=unroll
    )


def _order(name: str, m: int) -> int:
    m = index(m)
    if m < 0:
        raise ValueError(f"{name}: m is how often to do it, got {m}.")
    return m


def _factors(size: int, m: int, dtype: ir.DTypeLike) -> np.ndarray:
    """The factors of ``size`` powers in an ``m``-th derivative: products of ``m`` exponents.

    A factor of an exponent below 1 counts as 1.
    """
    # Row i holds n, n − 1, …, n − m + 1 for the power n of coefficient i. An integral divides by
    # the same factors, with the constants of integration as further coefficients.
    powers = np.arange(size)[::-1, None] - np.arange(m)
    return np.prod(np.maximum(powers, 1), 1, dtype=np.float64).astype(dtype)


@ir.dispatched("m")
def polyder(p: ir.ArrayLike, m: int = 1) -> ir.Array:
    """The coefficients of a derivative of a polynomial.

    Args:
      p: a vector of coefficients; integers become floats.
      m: the order of the derivative.

    Returns:
      A vector of coefficients.

    Raises:
      TypeError: if ``p`` is not an array or a scalar, or ``m`` is not an int.
      ValueError: if ``m`` is negative.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.polyder(jnp.array([1.0, 2.0, 3.0])).tolist()
      [2.0, 2.0]

    Source: numpy.polyder.
    """
    return _polyder(*_coefficients("polyder", p), m=_order("polyder", m))


@ir.composite("polyder")
def _polyder(p: ir.Array, *, m: int) -> ir.Array:
    (p,) = promotion.promote_dtypes_inexact(p)
    if not m:
        return p
    size = p.shape[0]
    count = max(size - m, 0)
    factors = ir.unnarrowed(_factors(size, m, p.dtype)[:count])
    return lax.mul(lax.slice_in_dim(p, 0, count), factors)


@ir.dispatched("m")
def polyint(p: ir.ArrayLike, m: int = 1, k: ir.ArrayLike | None = None) -> ir.Array:
    """The coefficients of an integral of a polynomial.

    Args:
      p: a vector of coefficients; integers become floats.
      m: how often to integrate.
      k: the constants of integration, the first integral's first: a vector of ``m``, or one
        number for all; by default 0.

    Returns:
      A vector of coefficients.

    Raises:
      TypeError: if an operand is not an array, ``p`` is a scalar, or ``m`` is not an int.
      ValueError: if ``m`` is negative, or ``k`` has another shape.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.polyint(jnp.array([2.0, 2.0]), k=3).tolist()
      [1.0, 2.0, 3.0]

    Source: numpy.polyint.
    """
    (p,) = _coefficients("polyint", p)
    k = None if k is None else promotion.operands("polyint", k)[0]
    m = _order("polyint", m)
    if k is not None and np.shape(k) not in ((), (1,), (m,)):
        raise ValueError(
            f"polyint: k must be a number or a vector of m={m}, got shape {np.shape(k)}."
        )
    return _polyint(p, k, m=m)


@ir.composite("polyint")
def _polyint(p: ir.Array, k: ir.Array | None, *, m: int) -> ir.Array:
    p, k = promotion.promote_dtypes_inexact(p, 0 if k is None else k)
    if not m:
        return p
    p = lax.concatenate([p, broadcast(k, (m,))], 0)
    return lax.div(p, ir.unnarrowed(_factors(p.shape[0], m, p.dtype)))


@ir.dispatched("N", "increasing")
def vander(x: ir.ArrayLike, N: int | None = None, increasing: bool = False) -> ir.Array:
    """The powers of a vector's elements: a Vandermonde matrix.

    Args:
      x: a vector.
      N: the number of columns; by default as many as rows.
      increasing: whether the powers rise from left to right.

    Returns:
      A matrix of shape ``(x.size, N)``.

    Raises:
      TypeError: if ``x`` is not an array or boolean, or ``N`` is not an int.
      ValueError: if ``x`` is not a vector, or ``N`` is negative.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.vander(jnp.array([1, 2, 3]), 3).tolist()
      [[1, 1, 1], [4, 2, 1], [9, 3, 1]]

    Source: numpy.vander.
    """
    (x,) = promotion.operands("vander", x)
    if np.ndim(x) != 1:
        raise ValueError(f"vander: x must be a vector, got shape {np.shape(x)}.")
    count = np.shape(x)[0] if N is None else index(N)
    if count < 0:
        raise ValueError(f"vander: N is a number of columns, got {count}.")
    return _vander(x, count=count, increasing=bool(increasing))


@ir.composite("vander")
def _vander(x: ir.Array, *, count: int, increasing: bool) -> ir.Array:
    powers = lax.iota(x.dtype, count)
    if not increasing:
        powers = lax.sub(promotion.strong_constant(x.dtype, count - 1), powers)
    return power(lax.expand_dims(x, (1,)), lax.expand_dims(powers, (0,)))
