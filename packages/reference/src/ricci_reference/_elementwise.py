"""Rules of the elementwise operations."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import finfo, issubdtype

from ._widening import Rule, wide_dtype, widen, widened


def _ignoring_params(fun: Callable[..., np.ndarray]) -> Rule:
    return lambda *operands, **params: fun(*operands)


def _named(table: dict[str, Callable[..., np.ndarray]]) -> dict[str, Rule]:
    """Rules of functions that take no parameters and compute in the wide dtype."""
    return {name: widened(_ignoring_params(fun)) for name, fun in table.items()}


# Integers: XLA defines the cases that C leaves undefined (division by zero, long shifts).


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    # Divide by 1 where the divisor is 0; these results are replaced below.
    divisor = np.where(y == 0, y.dtype.type(1), y)
    quotient = np.floor_divide(x, divisor)
    # XLA rounds towards zero, NumPy rounds down.
    quotient = quotient + ((np.fmod(x, divisor) != 0) & ((x < 0) != (y < 0))).astype(x.dtype)
    # A division by zero has all bits set: -1, or the largest unsigned integer.
    return np.where(y == 0, np.array(-1).astype(x.dtype), quotient)


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    # The remainder of a division by zero is the dividend.
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y)))


def _bits(dtype: np.dtype) -> int:
    return 8 * dtype.itemsize


def _unsigned(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(x.shape).view(f"u{x.dtype.itemsize}")


def _shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    fits = _unsigned(y) < _bits(x.dtype)
    return np.where(fits, x << np.where(fits, y, y.dtype.type(0)), x.dtype.type(0))


def _shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = np.broadcast_arrays(x, y)
    fits = _unsigned(y) < _bits(x.dtype)
    count = np.where(fits, _unsigned(y), _unsigned(y).dtype.type(0))
    shifted = np.where(fits, _unsigned(x) >> count, _unsigned(x).dtype.type(0))
    return shifted.view(x.dtype)


def _shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    signed = _unsigned(x).view(f"i{x.dtype.itemsize}")
    # A longer shift leaves copies of the sign, like one by all bits but one.
    count = np.minimum(_unsigned(y), _bits(x.dtype) - 1).astype(signed.dtype)
    return np.asarray(signed >> count).view(x.dtype)


def _leading_zeros(x: np.ndarray) -> np.ndarray:
    # Python's integers, which have the method; slow, and plainly right.
    length = np.vectorize(int.bit_length, otypes=[np.int64])(_unsigned(x).astype(object))
    return (_bits(x.dtype) - length).astype(x.dtype)


def _high_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # Python's integers do not overflow, so that the high bits are there to be taken.
    product = x.astype(object) * y.astype(object)
    return np.asarray(product >> _bits(x.dtype), object).astype(x.dtype)


def _power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.power(x, y.astype(x.dtype))
    exponent = np.maximum(y, y.dtype.type(0)).astype(x.dtype)
    # For a negative exponent the result is the reciprocal, rounded towards zero.
    small = np.where(x == 0, np.array(-1).astype(x.dtype), x.dtype.type(0))
    odd = np.where(y % 2 == 0, x.dtype.type(1), x)
    reciprocal = np.where(x * x == 1, odd, small)
    return np.where(y < 0, reciprocal, np.power(x, exponent))


def _integer_power(x: np.ndarray, *, y: int, **params: Any) -> np.ndarray:
    if y < 0:
        return x.dtype.type(1) / _integer_power(x, y=-y)
    # Square and multiply: one factor for each set bit of the exponent.
    result, square = np.ones_like(x), x
    while y:
        if y & 1:
            result = result * square
        square, y = square * square, y >> 1
    return result


def _sign(x: np.ndarray) -> np.ndarray:
    return np.sign(x) if x.dtype.kind != "f" else np.where(np.isnan(x) | (x == 0), x, np.sign(x))


def _round(x: np.ndarray, *, rounding_method: Any, **params: Any) -> np.ndarray:
    if rounding_method.name == "TO_NEAREST_EVEN":
        return np.rint(x)
    whole = np.trunc(x)
    # Halves round away from zero; NaN and infinities are unchanged.
    away = np.abs(x - whole) >= 0.5
    return np.where(away, whole + np.copysign(x.dtype.type(1), x), np.copysign(whole, x))


def _angle(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    if y.dtype.kind != "c":
        return np.arctan2(y, x)
    # The logarithm of the unit vector along ``x + i y`` is ``i`` times its angle.
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def _total_order(x: np.ndarray) -> np.ndarray:
    """Integers in the total order of the floats: -NaN, -inf, …, -0, 0, …, inf, NaN."""
    if x.dtype.kind != "f":
        return x
    bits = np.ascontiguousarray(x).reshape(x.shape).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, ~bits ^ np.iinfo(bits.dtype).min, bits)


def _in_total_order(compare: np.ufunc) -> Callable[..., np.ndarray]:
    return lambda x, y: compare(_total_order(x), _total_order(y))


def _complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = np.broadcast_arrays(x, y)
    result = np.empty(x.shape, np.complex64 if x.dtype == np.float32 else np.complex128)
    result.real, result.imag = x, y
    return result


def _conjugate(x: np.ndarray, **params: Any) -> np.ndarray:
    return np.conj(x) if x.dtype.kind == "c" else _complex(x, np.zeros_like(x))


def convert(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``x`` in another dtype; floats out of an integer dtype's range become its nearest value.

    Of complex numbers only the real parts are converted, to booleans too.
    """
    if x.dtype == dtype:
        return x
    # A real dtype takes the real part; NumPy would warn.
    if x.dtype.kind == "c" and not issubdtype(dtype, np.complexfloating):
        x = np.real(x)
    if dtype == np.bool_:
        return widen(x) != 0
    if issubdtype(x.dtype, np.floating) and issubdtype(dtype, np.integer):
        return _saturated(x.astype(np.float64), dtype)
    if wide_dtype(x.dtype) != x.dtype:
        x = widen(x)
    return x.astype(dtype)


def _saturated(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    wide = wide_dtype(dtype)
    # Narrow integers such as int4 take a byte each, so that their name says their width.
    bits = _bits(wide) if wide == dtype else int("".join(filter(str.isdigit, dtype.name)))
    signed = wide.kind == "i"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    # Only values in range are converted, since C leaves the others undefined. NaN becomes 0.
    inside = np.where((x > low) & (x < high), x, 0).astype(wide)
    result = np.where(x >= high, np.array(high, wide), inside)
    return np.where(x <= low, np.array(low, wide), result).astype(dtype)


def _bitcast(x: np.ndarray, *, new_dtype: np.dtype, **params: Any) -> np.ndarray:
    old, new = x.dtype.itemsize, new_dtype.itemsize
    x = np.ascontiguousarray(x).reshape(x.shape)
    if old == new:
        return x.view(new_dtype)
    # A wide element becomes a row of narrow ones, along a new last dimension.
    if old > new:
        return x[..., np.newaxis].view(new_dtype)
    return x.view(new_dtype)[..., 0]


def _reduce_precision(x: np.ndarray, *, exponent_bits: int, mantissa_bits: int, **params: Any):
    if x.dtype.kind != "f":
        raise NotImplementedError(f"reduce_precision of {x.dtype} in the reference backend")
    fraction, exponent = np.frexp(x.astype(np.float64))
    # The fraction is in [1/2, 1): keep mantissa_bits after the leading one, halves to even.
    scale = 2.0 ** (mantissa_bits + 1)
    rounded = np.ldexp(np.rint(fraction * scale) / scale, exponent)
    bias = 2 ** (exponent_bits - 1) - 1
    # The largest finite number of the narrower format: all bits of the mantissa set, at the largest
    # exponent.
    largest = np.ldexp(2.0 - 2.0**-mantissa_bits, bias)
    rounded = np.where(np.abs(rounded) > largest, np.copysign(np.inf, x), rounded)
    # A value that would be subnormal in the narrower format becomes zero, but not below this
    # dtype's own smallest subnormal.
    smallest = max(2.0 ** (1 - bias), float(finfo(x.dtype).smallest_subnormal))
    rounded = np.where(np.abs(rounded) < smallest, np.copysign(0.0, x), rounded)
    return np.where(np.isfinite(x), rounded, x).astype(x.dtype)


elementwise_rules: dict[str, Rule] = {
    **_named(
        {
            "abs": np.abs,
            "acos": np.arccos,
            "acosh": np.arccosh,
            "add": np.add,
            "add_any": np.add,
            "and": np.bitwise_and,
            "asin": np.arcsin,
            "asinh": np.arcsinh,
            "atan": np.arctan,
            "atan2": _angle,
            "atanh": np.arctanh,
            "cbrt": np.cbrt,
            "ceil": np.ceil,
            "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
            "clz": _leading_zeros,
            "complex": _complex,
            "conj": _conjugate,
            "cos": np.cos,
            "cosh": np.cosh,
            "div": _divide,
            "eq_to": _in_total_order(np.equal),
            "exp": np.exp,
            "exp2": np.exp2,
            "expm1": np.expm1,
            "floor": np.floor,
            "ge": np.greater_equal,
            "gt": np.greater,
            "imag": np.imag,
            "is_finite": np.isfinite,
            "le": np.less_equal,
            "le_to": _in_total_order(np.less_equal),
            "log": np.log,
            "log1p": np.log1p,
            "log2": np.log2,
            "logistic": lambda x: 1 / (1 + np.exp(-x)),
            "lt": np.less,
            "lt_to": _in_total_order(np.less),
            "max": np.maximum,
            "min": np.minimum,
            "mul": np.multiply,
            "mulhi": _high_product,
            "neg": np.negative,
            "not": np.invert,
            "one_minus_square": lambda x: (1 - x) * (1 + x),
            "or": np.bitwise_or,
            "population_count": lambda x: np.bitwise_count(_unsigned(x)).astype(x.dtype),
            "pow": _power,
            "real": np.real,
            "rem": _remainder,
            "rsqrt": lambda x: 1 / np.sqrt(x),
            "shift_left": _shift_left,
            "shift_right_arithmetic": _shift_right_arithmetic,
            "shift_right_logical": _shift_right_logical,
            "sign": _sign,
            "sin": np.sin,
            "sinh": np.sinh,
            "sqrt": np.sqrt,
            "square": np.square,
            "sub": np.subtract,
            "tan": np.tan,
            "tanh": np.tanh,
            "xor": np.bitwise_xor,
        }
    ),
    "bitcast_convert_type": _bitcast,
    "convert_element_type": lambda x, *, new_dtype, **params: convert(x, new_dtype),
    # NumPy compares elements that are arrays (random keys) by these alone.
    "eq": _ignoring_params(operator.eq),
    "ne": _ignoring_params(operator.ne),
    "copy": lambda x, **params: x,
    "name": lambda x, **params: x,
    "integer_pow": widened(_integer_power),
    "nextafter": _ignoring_params(np.nextafter),
    "optimization_barrier": lambda *operands, **params: operands,
    "reduce_precision": widened(_reduce_precision),
    "round": widened(_round),
    "stop_gradient": lambda x, **params: x,
    "substitute": lambda x, _, **params: x,
}
