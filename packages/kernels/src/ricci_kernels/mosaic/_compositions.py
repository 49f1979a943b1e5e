"""The rules of functions that are compositions of others on a TPU.

Sources: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", chapter 4; W. Kahan,
"Branch Cuts for Complex Elementary Functions"; C. Lanczos, "A Precision Approximation of the Gamma
Function", SIAM J. Numer. Anal. 1 (1964), with the coefficients for g = 7; M. Giles, "Approximating
the erfinv Function", GPU Computing Gems 2 (2010).
"""

from collections.abc import Callable
from math import log, pi

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_stablehlo import lower_rules

from ._writer import composed, kind_of, mosaic_rules

_LOG_2 = log(2)
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
_ERF_INV_CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_ERF_INV_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


# exp(x²) erfc(x) (1 + x / 2) as a polynomial in 1 / (1 + x / 2), from x = 1/2 on to the end of
# float32: the weighted least-squares fit at 400 Chebyshev nodes, of relative error 1.1e-8.
_ERFC_TAIL = (
    -0.0625689411,
    0.301249765,
    -0.519922926,
    0.312720545,
    -0.0482971555,
    0.210875682,
    0.241280568,
    0.282593714,
    0.282075644,
)
_ERFC_END = 10.25  # erfc is 0 in float32 from there on


def _like(x: ir.Array, value: float) -> ir.Array:
    return lax.full_like(x, value)


def _where(flag: ir.Array, x: ir.Array, y: ir.Array) -> ir.Array:
    return lax.select(flag, x, y)


def _magnitude(function: Callable[[ir.Array], ir.Array], x: ir.Array) -> ir.Array:
    """An odd function, from its values at magnitudes; a zero is returned with its sign."""
    size = function(lax.abs(x))
    return _where(x == 0, x, _where(x < 0, -size, size))


def _expm1(x: ir.Array, **_: object) -> ir.Array:
    # exp(x) − 1 = 2 t / (1 − t) with t = tanh(x / 2): without cancellation near 0.
    half = lax.tanh(x * 0.5)
    near = 2 * half / (1 - half)
    return _where(lax.abs(x) < 0.5, near, lax.exp(x) - 1)


def _half_exp(a: ir.Array) -> ir.Array:
    """exp(a) / 2, which overflows no earlier than it must, with the digits of a large ``a``."""
    root = lax.exp(a * 0.5)
    return root * (root * 0.5)


def _sinh(x: ir.Array, **_: object) -> ir.Array:
    def positive(a: ir.Array) -> ir.Array:
        # sinh = (e + e / (e + 1)) / 2 with e = expm1(a), which has the digits of a small a.
        small = _expm1(lax.min(a, _like(a, 1.0)))
        half = _half_exp(a)
        return _where(a < 1, (small + small / (small + 1)) * 0.5, half - 0.25 / half)

    return _magnitude(positive, x)


def _cosh(x: ir.Array, **_: object) -> ir.Array:
    half = _half_exp(lax.abs(x))
    return half + 0.25 / half


def _cathetus(x: ir.Array) -> ir.Array:
    return lax.sqrt((1 - x) * (1 + x))


def _asinh(x: ir.Array, **_: object) -> ir.Array:
    def positive(a: ir.Array) -> ir.Array:
        # The square of 1e9 is within float32; above, asinh(a) = log(2 a) to all digits. The
        # argument of the unselected case is bounded so that it makes no NaN.
        b = lax.min(a, _like(a, 1e9))
        near = lax.log1p(b + b * b / (1 + lax.sqrt(b * b + 1)))
        return _where(a < 1e9, near, lax.log(a) + _LOG_2)

    return _magnitude(positive, x)


def _acosh(x: ir.Array, **_: object) -> ir.Array:
    # In t = x − 1, which is exact near 1, as log(1 + t + sqrt(t (t + 2))). The root of each factor
    # is taken: below −1 both factors are negative, and their product would have a root.
    t = lax.min(x, _like(x, 1e9)) - 1
    near = lax.log1p(t + lax.sqrt(t) * lax.sqrt(t + 2))
    return _where(x < 1e9, near, lax.log(x) + _LOG_2)


def _cbrt(x: ir.Array, **_: object) -> ir.Array:
    def positive(a: ir.Array) -> ir.Array:
        safe = lax.max(a, _like(a, float(np.finfo(np.float32).tiny)))
        # A first estimate, and one step of Newton's method for r³ = a, which removes its rounding
        # errors.
        root = lax.exp(lax.log(safe) / 3)
        root = root - (root - safe / (root * root)) / 3
        return _where((a > 0) & (a < float("inf")), root, a)

    return _magnitude(positive, x)


def _lanczos(z: ir.Array) -> tuple[ir.Array, ir.Array]:
    """The sum of the series at ``z``, and its derivative."""
    total, slope = _like(z, _LANCZOS[0]), _like(z, 0.0)
    for i, c in enumerate(_LANCZOS[1:], 1):
        term = c / (z + i)
        total, slope = total + term, slope - term / (z + i)
    return total, slope


def _digamma(x: ir.Array, **_: object) -> ir.Array:
    reflects = x < 0.5
    z = _where(reflects, -x, x - 1)
    # The derivative of the logarithm of Lanczos's formula, and of its reflection.
    total, slope = _lanczos(z)
    t = z + 7.5
    value = lax.log(t) + slope / total - 7 / t
    # The tangent has period 1 in x: taken of the distance to the nearest integer, which is exact,
    # it has the digits of x near a pole.
    distance = x - lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    reflected = value - pi / lax.tan(pi * distance)
    # The limits from the two sides of a negative integer differ, so that there is no value.
    is_pole = (distance == 0) & (x < 0)
    return _where(is_pole, _like(x, float("nan")), _where(reflects, reflected, value))


def _erfc(x: ir.Array, **_: object) -> ir.Array:
    a = lax.min(lax.max(x, _like(x, 0.5)), _like(x, _ERFC_END))
    t = 1 / (1 + a * 0.5)
    value = _like(x, _ERFC_TAIL[0])
    for c in _ERFC_TAIL[1:]:
        value = value * t + c
    # An error of x² in the last digit is many digits of exp(−x²). The square of the leading 8 bits
    # is exact, and the remainder x² − lead² = (x − lead) (x + lead) is small.
    bits = lax.bitcast_convert_type(a, np.int32)
    lead = lax.bitcast_convert_type(bits & np.int32(-(1 << 16)), np.float32)
    tail = t * value * lax.exp((lead - a) * (lead + a)) * lax.exp(-lead * lead)
    return _where(x < 0.5, 1 - lax.erf(x), tail)


def _erf_inv(x: ir.Array, **_: object) -> ir.Array:
    # Giles's two polynomials: in w − 2.5 for the centre, in √w − 3 for the tails.
    # 1 − x² is computed as a product, whose factors are exact near ±1; near 0, where digits of the
    # logarithm are lost, only its absolute error counts.
    w = -lax.log((1 - x) * (1 + x))
    is_central = w < 5
    shifted = _where(is_central, w - 2.5, lax.sqrt(lax.max(w, _like(w, 5.0))) - 3)
    value = _where(is_central, _like(x, _ERF_INV_CENTRAL[0]), _like(x, _ERF_INV_TAIL[0]))
    for central, tail in zip(_ERF_INV_CENTRAL[1:], _ERF_INV_TAIL[1:], strict=True):
        value = _where(is_central, _like(x, central), _like(x, tail)) + value * shifted
    return _where(lax.abs(x) == 1, x * float("inf"), value * x)


def _polynomial(x: ir.Array, *coefficients: ir.Array, **_: object) -> ir.Array:
    value = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


def _sign(x: ir.Array, **_: object) -> ir.Array:
    if kind_of(x.dtype) == "u":
        return lax.min(x, _like(x, 1))
    return _where(x > 0, _like(x, 1), _where(x < 0, _like(x, -1), x))


def _integer_pow(x: ir.Array, *, y: int, **_: object) -> ir.Array:
    if y < 0:
        return 1 / _integer_pow(x, y=-y)
    # Repeated squaring, by the binary digits of the exponent.
    result, power = None, x
    while y:
        if y & 1:
            result = power if result is None else result * power
        y >>= 1
        power = power * power if y else power
    return _like(x, 1) if result is None else result


def _nextafter(x: ir.Array, y: ir.Array, **_: object) -> ir.Array:
    """The neighbour's bits: floats of one sign are ordered as their bits are."""
    bits = lax.bitcast_convert_type(x, np.int32)
    # Bits of positive floats grow with the number, those of negative ones with its magnitude. Zero
    # has two patterns, and its neighbour is the least subnormal of the direction's sign.
    grows = lax.eq(lax.lt(x, y), lax.gt(bits, np.int32(-1)))
    step = _where(grows, _like(bits, 1), _like(bits, -1))
    least = _where(y > 0, _like(bits, 1), _like(bits, -(2**31) + 1))
    moved = lax.bitcast_convert_type(_where(x == 0, least, bits + step), np.float32)
    return _where(x == y, y, _where((x != x) | (y != y), x + y, moved))


def _in_float32(function: Callable[..., ir.Array]) -> Callable[..., ir.Array]:
    """The function, computed in float32 for narrower floats."""

    def wide(*operands: ir.Array, **params: object) -> ir.Array:
        dtype = operands[0].dtype
        if kind_of(dtype) != "f" or dtype == np.float32:
            return function(*operands, **params)
        xs = [lax.convert_element_type(x, np.float32) for x in operands]
        return lax.convert_element_type(function(*xs, **params), dtype)

    return wide


def _broadcast(function: Callable[..., ir.Array]) -> Callable[..., ir.Array]:
    """The function of operands of one shape."""

    def same(*operands: ir.Array, **params: object) -> ir.Array:
        shape = np.broadcast_shapes(*[x.shape for x in operands])
        xs = [
            x if x.shape == shape else lax.broadcast_in_dim(x, shape, _dims(x, shape))
            for x in operands
        ]
        return function(*xs, **params)

    return same


def _dims(x: ir.Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(len(shape) - x.ndim, len(shape)))


_COMPOSITIONS: dict[ir.Primitive, Callable[..., ir.Array]] = {
    lax.acos_p: lambda x, **_: lax.atan2(_cathetus(x), x),
    lax.acosh_p: _acosh,
    lax.asin_p: lambda x, **_: lax.atan2(x, _cathetus(x)),
    lax.asinh_p: _asinh,
    lax.atan_p: lambda x, **_: lax.atan2(x, _like(x, 1.0)),
    lax.atanh_p: lambda x, **_: 0.5 * (lax.log1p(x) - lax.log1p(-x)),
    lax.cbrt_p: _cbrt,
    lax.cosh_p: _cosh,
    lax.digamma_p: _digamma,
    lax.erf_inv_p: _erf_inv,
    lax.erfc_p: _erfc,
    lax.expm1_p: _expm1,
    lax.is_finite_p: lambda x, **_: lax.abs(x) < float("inf"),
    lax.lgamma_p: lower_rules[lax.lgamma_p].function,
    lax.log2_p: lambda x, **_: lax.log(x) * (1 / _LOG_2),
    lax.nextafter_p: _broadcast(_nextafter),
    lax.one_minus_square_p: lambda x, **_: (1 - x) * (1 + x),
    lax.polynomial_p: _broadcast(_polynomial),
    lax.sign_p: _sign,
    lax.sinh_p: _sinh,
    lax.square_p: lambda x, **_: x * x,
    lax.integer_pow_p: _integer_pow,
}


for _primitive, _function in _COMPOSITIONS.items():
    is_boolean = _primitive is lax.is_finite_p
    mosaic_rules[_primitive] = composed(_function if is_boolean else _in_float32(_function))
