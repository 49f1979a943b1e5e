"""Derivatives of elementwise functions in wide floats, for the law of derivatives at all points."""

from collections.abc import Callable

import numpy as np

import ricci_ir as ir

type Wide = np.ndarray  # of np.longdouble

_PI = np.longdouble("3.14159265358979323846264338327950288")
_LN2 = np.log(np.longdouble(2))


class Slope(ir.Record):
    """A derivative in wide floats, and where and how exactly it is compared.

    Args:
      derivative: a function of arrays of ``np.longdouble``.
      domain: the points where it is compared, as a predicate of such an array.
      ulps: the accepted error, in units of the last place.
      root: an accepted error for points between -4 and 4, in units of the dtype's epsilon, where
        the derivative has a root, a difference of terms of about that size.
      absolute: an accepted error at all points, in units of the dtype's epsilon.
      exempt: why more than 4 units of the last place, or any absolute error, are accepted.
    """

    derivative: Callable[[Wide], Wide]
    domain: Callable[[Wide], Wide] = np.isfinite
    ulps: float = 4
    root: float = 0
    absolute: float = 0
    exempt: str = ""


def positive(x: Wide) -> Wide:
    """Domain: the positive numbers."""
    return x > 0


def nonzero(x: Wide) -> Wide:
    """Domain: all numbers but 0."""
    return x != 0


def inside_unit(x: Wide) -> Wide:
    """Domain: the numbers between -1 and 1."""
    return abs(x) < 1


def logistic(x: Wide) -> Wide:
    """The logistic function, without overflow."""
    decay = np.exp(-abs(x))
    return np.where(x < 0, decay, 1) / (1 + decay)


def logistic_slope(x: Wide) -> Wide:
    """The derivative of the logistic function."""
    decay = np.exp(-abs(x))
    return decay / (1 + decay) ** 2


def bell(factor: float, scale: float = 1) -> Callable[[Wide], Wide]:
    """Multiples of the density exp(-scale x²)."""
    return lambda x: factor / np.sqrt(_PI) * np.exp(-scale * x * x)


_root_slope = lambda x: 1 / np.sqrt((1 - x) * (1 + x))

_STORED = "1 - y of the stored result y; from x it would need a second residual and an exponential"
_SQUARED = "exp(-x²) has the rounding of x², and exactness would cost 1.4 times the time"
_COMPILED = "the error is that of the compiler's function, which the derivative contains"

# By the names of primitives of one operand.
SLOPES: dict[str, Slope] = {
    "abs": Slope(np.sign, nonzero),
    "acos": Slope(lambda x: -_root_slope(x), inside_unit),
    "acosh": Slope(lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)), lambda x: x > 1),
    "asin": Slope(_root_slope, inside_unit),
    "asinh": Slope(lambda x: 1 / np.hypot(1, x)),
    "atan": Slope(lambda x: 1 / (1 + x * x)),
    "atanh": Slope(lambda x: 1 / ((1 - x) * (1 + x)), inside_unit),
    "cbrt": Slope(lambda x: 1 / (3 * np.cbrt(x) ** 2), nonzero, 6, exempt=_COMPILED),
    "cos": Slope(lambda x: -np.sin(x)),
    "cosh": Slope(np.sinh, ulps=500, exempt=_COMPILED),
    "erf": Slope(bell(2), ulps=300, exempt=_SQUARED),
    "erfc": Slope(bell(-2), ulps=300, exempt=_SQUARED),
    "exp": Slope(np.exp),
    "exp2": Slope(lambda x: np.exp2(x) * _LN2, ulps=16, exempt=_COMPILED),
    "expm1": Slope(np.exp),
    "log": Slope(lambda x: 1 / x, positive),
    "log1p": Slope(lambda x: 1 / (1 + x), lambda x: x > -1),
    "log2": Slope(lambda x: 1 / (x * _LN2), positive),
    "logistic": Slope(logistic_slope, absolute=1, exempt=_STORED),
    "one_minus_square": Slope(lambda x: -2 * x),
    "rsqrt": Slope(lambda x: -1 / (2 * x * np.sqrt(x)), positive),
    "sin": Slope(np.cos),
    "sinh": Slope(np.cosh, ulps=500, exempt=_COMPILED),
    "sqrt": Slope(lambda x: 1 / (2 * np.sqrt(x)), positive),
    "square": Slope(lambda x: 2 * x),
    "tan": Slope(lambda x: 1 / np.cos(x) ** 2),
    "tanh": Slope(lambda x: 4 * logistic_slope(2 * x), absolute=16, exempt=_STORED),
}

# Primitives of one operand whose derivatives have no reference in wide floats.
WITHOUT_SLOPES: dict[str, str] = {
    **dict.fromkeys(
        ("bessel_i0e", "bessel_i1e", "digamma", "erf_inv", "lgamma"),
        "special functions, which wide floats do not have",
    ),
    **dict.fromkeys(
        ("ceil", "copy", "floor", "imag", "neg", "real", "sign", "xla_metadata_value"),
        "linear, or piecewise constant",
    ),
    **dict.fromkeys(
        ("clz", "is_finite", "not", "population_count"), "not differentiable: bits and booleans"
    ),
}
