"""Tests of elements and arrays: finite, infinite, NaN, close, equal, complex."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike
from ricci_lax.authoring import UnaryFunction
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.arrays._filling import filled
from ricci_numpy.reductions._axis_reductions import all as _all

from ._binary import add, equal, less_equal, multiply
from ._factories import BOOLEANS, publish, unary
from ._unary import imag

__all__ = ["allclose", "array_equal", "array_equiv", "isclose", "iscomplex", "iscomplexobj"]
__all__ += ["isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "isscalar"]
__all__ += ["iterable"]


def _by_kind(
    name: str,
    on_floats: Callable[[Array], Array],
    on_complex: Callable[[Array], Array],
    otherwise: bool,
    summary: str,
    argument: str,
    result: str,
) -> UnaryFunction:
    """A test of floats and complex numbers that has one result for all integers."""

    def general(x):
        (x,) = promotion.operands(name, x)
        dtype = promotion.dtype_of(x)
        if dtype in promotion.FLOAT_DTYPES:
            return on_floats(asarray(x))
        if dtype in promotion.COMPLEX_DTYPES:
            return on_complex(asarray(x))
        return step(x)

    step = ir.inlined(name)(lambda x: filled(np.shape(x), otherwise, ir.BOOL, False, name))
    example = f"bool(jnp.{name}({argument}))"
    function = unary(on_floats, promotion.FLOAT_DTYPES, general)
    return publish(function, name, summary, example, result, "x", gives=BOOLEANS)


@ir.inlined("isfinite")
def _finite(x: Array) -> Array:
    return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))


@ir.composite("isinf")
def _infinite(x: Array) -> Array:
    # The absolute value covers both infinities in one comparison.
    return lax.eq(lax.abs(x), promotion.strong_constant(x.dtype, np.inf))


@ir.composite("isinf")
def _infinite_complex(x: Array) -> Array:
    return lax.bitwise_or(_infinite.fun(lax.real(x)), _infinite.fun(lax.imag(x)))


isfinite: UnaryFunction = _by_kind(
    "isfinite",
    lax.is_finite,
    _finite,
    True,
    "Whether an element is neither infinite nor NaN.",
    "2.0",
    "True",
)
isinf: UnaryFunction = _by_kind(
    "isinf",
    _infinite,
    _infinite_complex,
    False,
    "Whether an element is infinite.",
    "jnp.inf",
    "True",
)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether an element is positive infinity.

    Args:
      x: an array or a scalar of real numbers.
      out: not supported.

    Returns:
      A boolean array of the shape of ``x``.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> import ricci.numpy as jnp
      >>> bool(jnp.isposinf(jnp.inf))
      True

    Source: numpy.isposinf.
    """
    return _is_infinity("isposinf", x, out, np.inf)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether an element is negative infinity.

    Args:
      x: an array or a scalar of real numbers.
      out: not supported.

    Returns:
      A boolean array of the shape of ``x``.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> import ricci.numpy as jnp
      >>> bool(jnp.isneginf(-jnp.inf))
      True

    Source: numpy.isneginf.
    """
    return _is_infinity("isneginf", x, out, -np.inf)


def _is_infinity(name: str, x: ArrayLike, out: None, value: float) -> Array:
    promotion.no_out(name, out)
    (x,) = promotion.operands(name, x)
    x = asarray(x)
    if x.dtype in promotion.COMPLEX_DTYPES:
        raise ValueError(
            f"{name} is not defined for complex numbers; test their real and imaginary parts."
        )
    if x.dtype in promotion.FLOAT_DTYPES:
        return lax.eq(x, promotion.strong_constant(x.dtype, value))
    return filled(x.shape, False, ir.BOOL, False, name)


def _differs_from_itself(x: Array) -> Array:
    return lax.ne(x, x)


isnan: UnaryFunction = publish(
    unary(
        _differs_from_itself,
        ir.array_dtypes,
        lambda x: _differs_from_itself(*promotion.promote_args("isnan", x)),
    ),
    "isnan",
    "Whether an element is NaN.",
    "bool(jnp.isnan(jnp.nan))",
    "True",
    "x",
    gives=BOOLEANS,
)


@ir.dispatched()
def iscomplex(x: ArrayLike) -> Array:
    """Whether an element has an imaginary part that is not 0.

    Args:
      x: an array or a scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.iscomplex(jnp.array([1, 1j])).tolist()
      [False, True]

    Source: numpy.iscomplex.
    """
    return _iscomplex(*promotion.operands("iscomplex", x))


@ir.composite("iscomplex")
def _iscomplex(x: Array) -> Array:
    part = imag(x)
    return lax.ne(part, promotion.constant(part, 0))


@ir.dispatched()
def isreal(x: ArrayLike) -> Array:
    """Whether an element has no imaginary part, or one of 0.

    Args:
      x: an array or a scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.isreal(jnp.array([1, 1j])).tolist()
      [True, False]

    Source: numpy.isreal.
    """
    return _isreal(*promotion.operands("isreal", x))


@ir.composite("isreal")
def _isreal(x: Array) -> Array:
    part = imag(x)
    return lax.eq(part, promotion.constant(part, 0))


def iscomplexobj(x: object) -> bool:
    """Whether an array or scalar has a complex dtype.

    Args:
      x: any value.

    Returns:
      A Python boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.iscomplexobj(jnp.ones(2)), jnp.iscomplexobj(1j)
      (False, True)

    Source: numpy.iscomplexobj.
    """
    if x is None:
        return False
    if isinstance(x, list | tuple):
        return any(map(iscomplexobj, x))
    x = promotion.as_operand(x)
    dtype = getattr(x, "dtype", None)
    return ir.issubdtype(np.asarray(x).dtype if dtype is None else dtype, np.complexfloating)


def isrealobj(x: object) -> bool:
    """Whether an array or scalar has a dtype that is not complex.

    Args:
      x: any value.

    Returns:
      A Python boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.isrealobj(jnp.ones(2))
      True

    Source: numpy.isrealobj.
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether a value is a number, or an array without dimensions.

    Args:
      element: any value.

    Returns:
      A Python boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.isscalar(2), jnp.isscalar(jnp.ones(1))
      (True, False)

    Source: numpy.isscalar.
    """
    if hasattr(type(element), "aval"):
        return not element.aval.shape
    if hasattr(element, "__jax_array__"):
        return np.ndim(element.__jax_array__()) == 0
    return bool(np.isscalar(element)) or (isinstance(element, np.ndarray) and element.ndim == 0)


def iterable(y: Any) -> bool:
    """Whether a value can be iterated over.

    Args:
      y: any value.

    Returns:
      A Python boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.iterable([1]), jnp.iterable(1)
      (True, False)

    Source: numpy.iterable.
    """
    if hasattr(type(y), "aval"):
        return bool(y.aval.shape)
    return isinstance(y, Iterable) or bool(np.iterable(y))


@ir.dispatched("equal_nan")
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether elements are equal within ``atol + rtol * abs(b)``.

    Args:
      a, b: arrays or scalars that broadcast.
      rtol, atol: the tolerances, scalars.
      equal_nan: whether NaNs are equal.

    Returns:
      A boolean array of the broadcast shape.

    Raises:
      TypeError: if an operand is not an array or scalar.

    The tolerance is relative to ``b``, so that the arguments are not alike, and ``rtol`` means
    nothing where ``b`` is 0: give an ``atol`` that fits the data. The default of ``rtol`` is for
    float32; bfloat16 has two to three digits.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.isclose(jnp.array([1.0, 1.0]), jnp.array([1.0 + 1e-6, 1.01])).tolist()
      [True, False]
      >>> bool(jnp.isclose(1e-7, 0.0)), bool(jnp.isclose(1e-7, 0.0, atol=1e-6))
      (False, True)

    See also:
      ``allclose``: one answer for all elements.

    Source: numpy.isclose.
    """
    args = _closeness_operands("isclose", a, b, rtol, atol)
    return _isclose(*args, equal_nan=bool(equal_nan))


def _closeness_operands(
    name: str, a: ArrayLike, b: ArrayLike, rtol: ArrayLike, atol: ArrayLike
) -> list[ArrayLike | None]:
    """The operands of ``isclose``; ``None`` for the default tolerances, which the step holds."""
    arrays = promotion.operands(name, a, b)
    tolerances = zip((rtol, atol), _TOLERANCES, strict=True)
    return [
        *arrays,
        *(
            None if type(x) is float and x == default else promotion.operands(name, x)[0]
            for x, default in tolerances
        ),
    ]


_TOLERANCES: tuple[float, float] = (1e-05, 1e-08)  # the default rtol and atol


@ir.composite("isclose")
def _isclose(
    a: Array, b: Array, rtol: Array | None, atol: Array | None, *, equal_nan: bool
) -> Array:
    if ir.is_extended(promotion.common_dtype(a, b)[0]):
        return lax.eq(*promotion.promote_args("isclose", a, b))
    a, b = promotion.promote_args_inexact("isclose", a, b)
    distance = lax.abs(lax.sub(a, b))
    relative, absolute = (
        promotion.strong_constant(distance.dtype, default)
        if x is None
        else (promotion.convert(x, distance.dtype) if x.weak_type else x)
        for x, default in zip((rtol, atol), _TOLERANCES, strict=True)
    )
    allowed = add(absolute, multiply(relative, lax.abs(b)))
    # An infinite b would allow any distance; equal infinities are found by equality.
    near = lax.bitwise_and(isfinite(b), less_equal(distance, allowed))
    close = lax.bitwise_or(lax.eq(a, b), near)
    if equal_nan:
        close = lax.bitwise_or(close, lax.bitwise_and(lax.ne(a, a), lax.ne(b, b)))
    return promotion.convert(close, ir.BOOL)


@ir.dispatched("equal_nan")
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether all elements are equal within a tolerance; see ``isclose``.

    Args:
      a, b, rtol, atol, equal_nan: as for ``isclose``.

    Returns:
      A boolean scalar array.

    Example:
      >>> import ricci.numpy as jnp
      >>> bool(jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.001])))
      False
      >>> bool(jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.001]), rtol=1e-2))
      True

    See also:
      ``array_equal``, without a tolerance.

    Source: numpy.allclose.
    """
    args = _closeness_operands("allclose", a, b, rtol, atol)
    return _allclose(*args, equal_nan=bool(equal_nan))


@ir.composite("allclose")
def _allclose(*arrays: Array | None, equal_nan: bool) -> Array:
    # ``fun`` is the plain function: within one step there is no second one.
    return _all(_isclose.fun(*arrays, equal_nan=equal_nan))


def array_equal(
    a1: ArrayLike | Sequence[Any], a2: ArrayLike | Sequence[Any], equal_nan: bool = False
) -> Array:
    """Whether two arrays have one shape and equal elements.

    Args:
      a1, a2: arrays, or what ``asarray`` takes.
      equal_nan: whether NaNs are equal.

    Returns:
      A boolean scalar array.

    Example:
      >>> import ricci.numpy as jnp
      >>> bool(jnp.array_equal(jnp.ones(2), jnp.ones(3)))
      False

    See also:
      ``allclose``, with a tolerance; ``equal``, element by element.

    Source: numpy.array_equal.
    """
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return asarray(False)
    return _all_equal(a1, a2, equal_nan=bool(equal_nan))


def array_equiv(a1: ArrayLike | Sequence[Any], a2: ArrayLike | Sequence[Any]) -> Array:
    """Whether two arrays broadcast against each other and then are equal.

    Args:
      a1, a2: arrays, or what ``asarray`` takes.

    Returns:
      A boolean scalar array.

    Example:
      >>> import ricci.numpy as jnp
      >>> bool(jnp.array_equiv(jnp.ones((2, 2)), jnp.ones(2)))
      True

    Source: numpy.array_equiv.
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        lax.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return asarray(False)
    rank = max(a1.ndim, a2.ndim)
    a1, a2 = (lax.expand_dims(x, range(rank - x.ndim)) for x in (a1, a2))
    return _all_equal(a1, a2, equal_nan=False)


@ir.inlined("array_equal")
def _all_equal(a: Array, b: Array, *, equal_nan: bool) -> Array:
    return _all(_equal(a, b, equal_nan))


def _equal(a: Array, b: Array, equal_nan: bool) -> Array:
    result = equal(a, b)
    if not equal_nan or not promotion.INEXACT_DTYPES.issuperset((a.dtype, b.dtype)):
        return result
    return lax.bitwise_or(result, lax.bitwise_and(lax.ne(a, a), lax.ne(b, b)))
