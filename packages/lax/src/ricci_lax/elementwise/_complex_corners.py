"""Functions of complex numbers at zeros, infinities and NaN, by the array API standard.

XLA's formulas are right for finite numbers, except for the sign of zeros, and return NaN if a part
is infinite or NaN. A corner is a function of the operand and of XLA's result that selects what the
standard (and C99's annex G) has there; every other result stays as it is, to the bit.
"""

from collections.abc import Callable, Mapping
from math import inf, nan, pi

import numpy as np

from ricci_ir import Array, issubdtype
from ricci_stablehlo import Lowering, Value, traced

from ._arithmetic import abs, div, mul, sign
from ._comparison import bitwise_and, bitwise_not, bitwise_or, eq, ge, le, lt, ne, select
from ._factories import filled_like, scalar_like
from ._linear import complex, imag, neg, real
from ._piecewise_linear import is_finite, max

Corner = Callable[[Array, Array], Array]


def _parts(x: Array) -> tuple[Array, Array]:
    return real(x), imag(x)


def _is(x: Array, value: float) -> Array:
    return eq(x, scalar_like(x, value))


def _infinite(x: Array) -> Array:
    return _is(abs(x), inf)


def _where(mask: Array, value: Array | float, otherwise: Array) -> Array:
    return select(mask, filled_like(otherwise, value) if isinstance(value, float) else value,
                  otherwise)  # fmt: skip


def _exponential(lowest: float) -> Corner:
    """The corner of a function that goes to ``lowest`` in the left half plane."""

    def corner(x: Array, z: Array) -> Array:
        (a, b), (re, im) = _parts(x), _parts(z)
        turning = bitwise_not(is_finite(b))
        re = _where(bitwise_and(_infinite(a), turning), max(a, scalar_like(a, lowest)), re)
        im = _where(bitwise_and(_is(a, -inf), turning), 0.0, im)
        return complex(re, _where(_is(b, 0.0), b, im))

    return corner


def _sinh(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    turning, level = bitwise_not(is_finite(b)), _is(b, 0.0)
    copies_a = bitwise_or(
        bitwise_and(_infinite(a), turning), bitwise_and(_is(a, 0.0), bitwise_or(turning, level))
    )
    return complex(_where(copies_a, a, re), _where(level, b, im))


def _cosh(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    turning = bitwise_not(is_finite(b))
    side = _where(ne(a, a), 1.0, sign(a))
    im = _where(bitwise_and(_is(a, 0.0), turning), 0.0, _where(_is(b, 0.0), mul(b, side), im))
    return complex(_where(bitwise_and(_infinite(a), turning), inf, re), im)


def _tanh(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    finite, level = is_finite(b), _is(b, 0.0)
    copies_a = bitwise_and(_is(a, 0.0), bitwise_or(bitwise_not(finite), level))
    im = _where(bitwise_and(_infinite(a), finite), mul(b, scalar_like(b, 0)), im)
    return complex(_where(copies_a, a, re), _where(level, b, im))


def _log(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    return complex(_where(bitwise_or(_infinite(a), _infinite(b)), inf, re), im)


def _negative(x: Array) -> Array:
    """Whether numbers or zeros have a minus sign, which a comparison of zeros ignores."""
    return lt(div(scalar_like(x, 1), x), scalar_like(x, 0))


def _sqrt(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    # At the cut, the negative real axis, the result has the sign of b.
    im = _where(bitwise_and(_is(b, 0.0), _negative(b)), neg(abs(im)), im)
    steep = _infinite(b)
    level = bitwise_and(_is(b, 0.0), ge(a, scalar_like(a, 0)))
    im = _where(bitwise_and(_is(a, -inf), ne(b, b)), inf, im)
    return complex(
        _where(bitwise_or(steep, _is(a, inf)), inf, re), _where(bitwise_or(steep, level), b, im)
    )


def _asinh(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    level, upright = _is(b, 0.0), _is(a, 0.0)
    # At the cut, the imaginary axis beyond ±i, the result has the sign of a.
    re = _where(upright, _where(_negative(a), neg(abs(re)), abs(re)), re)
    return complex(_where(bitwise_and(upright, level), a, re), _where(level, b, im))


def _acosh(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    im = _where(bitwise_and(_is(a, 0.0), ne(b, b)), pi / 2, im)
    # The result has the sign of b, also where that is a zero.
    return complex(re, _where(bitwise_and(_is(b, 0.0), _negative(b)), neg(abs(im)), im))


def _acos(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    level = _is(b, 0.0)
    between = bitwise_and(level, le(abs(a), scalar_like(a, 1)))
    re = _where(bitwise_and(_is(a, 0.0), ne(b, b)), pi / 2, re)
    # At the cut, the real axis beyond ±1, the result has the sign that b has not.
    im = _where(level, _where(_negative(b), abs(im), neg(abs(im))), im)
    return complex(re, _where(between, neg(b), im))


def _atanh(x: Array, z: Array) -> Array:
    (a, b), (re, im) = _parts(x), _parts(z)
    unknown = bitwise_or(ne(b, b), bitwise_and(ne(a, a), is_finite(b)))
    return complex(_where(_is(a, 0.0), a, re), _where(unknown, nan, im))


def _times_i(x: Array) -> Array:
    return complex(neg(imag(x)), real(x))


def _over_i(x: Array) -> Array:
    return complex(imag(x), neg(real(x)))


def _turned(corner: Corner) -> Corner:
    """The corner of ``f`` with ``f(x) = -i g(i x)``, from the corner of ``g``."""
    return lambda x, z: _over_i(corner(_times_i(x), _times_i(z)))


_CORNERS: Mapping[str, Corner] = {
    "acos": _acos,
    "acosh": _acosh,
    "asin": _turned(_asinh),
    "asinh": _asinh,
    "atan": _turned(_atanh),
    "atanh": _atanh,
    "cos": lambda x, z: _cosh(_times_i(x), z),
    "cosh": _cosh,
    "exp": _exponential(0.0),
    "expm1": _exponential(-1.0),
    "log": _log,
    "log1p": _log,
    "sin": _turned(_sinh),
    "sinh": _sinh,
    "sqrt": _sqrt,
    "tan": _turned(_tanh),
    "tanh": _tanh,
}


def with_corners(name: str, lower: Callable[..., Value]) -> Callable[..., Value]:
    """The lowering of a function, followed for complex numbers by its corner, if it has one."""
    if name not in _CORNERS:
        return lower
    # Only elements at zeros, infinities and NaN change; elsewhere the corner copies the result.
    mend = traced(_CORNERS[name])

    def rule(ctx: Lowering, x: Value, **params: object) -> Value:
        result = lower(ctx, x, **params)
        return mend(ctx, x, result) if issubdtype(x.dtype, np.complexfloating) else result

    return rule
