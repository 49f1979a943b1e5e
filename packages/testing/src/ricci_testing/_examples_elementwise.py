"""Examples of elementwise primitives: a table of functions and the range of their operands."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import bfloat16, primitives

from ._example import Example, captured

Examples = dict[str, list[Example]]

F32, C64, BF16, F16 = np.float32, np.complex64, bfloat16, np.float16
I32, U8, I8, U32 = np.int32, np.uint8, np.int8, np.uint32

# Values without ties, none where a function below has a kink.
ANY = np.array([[0.3, -0.7, 1.2], [-1.9, 0.55, 2.4]])
OTHER = np.array([[1.1, 0.4, -1.6], [0.8, -2.2, 0.9]])
POSITIVE = np.array([[0.3, 0.7, 1.2], [1.9, 0.55, 2.4]])
UNIT = np.array([[0.3, -0.7, 0.2], [-0.9, 0.55, 0.4]])
ABOVE_ONE = np.array([[1.3, 1.7, 2.2], [3.9, 1.55, 2.4]])
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
INTEGERS = np.array([[5, -7, 0], [-128, 127, 3]])
DIVISORS = np.array([[3, 2, 0], [-1, -5, 7]])


def _complex(values: np.ndarray) -> np.ndarray:
    return (values + 0.4j * values[::-1]).astype(C64)


# By primitive: the function that applies it, the range of its operand, the kinds of dtype.
_UNARY: dict[str, tuple[np.ndarray, str]] = {
    "abs": (ANY, "fci"),
    "acos": (UNIT, "fc"),
    "acosh": (ABOVE_ONE, "fc"),
    "asin": (UNIT, "fc"),
    "asinh": (ANY, "fc"),
    "atan": (ANY, "fc"),
    "atanh": (UNIT, "fc"),
    "bessel_i0e": (ANY, "f"),
    "bessel_i1e": (ANY, "f"),
    "cbrt": (ANY, "f"),
    "ceil": (ANY, "f"),
    "clz": (ANY, "i"),
    "cos": (ANY, "fc"),
    "cosh": (ANY, "fc"),
    "digamma": (POSITIVE, "f"),
    "erf": (ANY, "f"),
    "erf_inv": (UNIT, "f"),
    "erfc": (ANY, "f"),
    "exp": (ANY, "fc"),
    "exp2": (ANY, "fc"),
    "expm1": (ANY, "fc"),
    "floor": (ANY, "f"),
    "is_finite": (ANY, "f"),
    "lgamma": (POSITIVE, "f"),
    "log": (POSITIVE, "fc"),
    "log1p": (POSITIVE, "fc"),
    "log2": (POSITIVE, "fc"),
    "logistic": (ANY, "fc"),
    "neg": (ANY, "fci"),
    "not": (ANY, "ib"),
    "one_minus_square": (UNIT, "fc"),
    "population_count": (ANY, "i"),
    "rsqrt": (POSITIVE, "fc"),
    "sign": (ANY, "fci"),
    "sin": (ANY, "fc"),
    "sinh": (ANY, "fc"),
    "sqrt": (POSITIVE, "fc"),
    "square": (ANY, "fci"),
    "tan": (UNIT, "fc"),
    "tanh": (ANY, "fc"),
}
_FUNCTIONS = {"not": "bitwise_not"}

# Operands by which there is no derivative: an order that is whole, or no closed form.
_FIXED = {"polygamma": (0,), "zeta": (0,)}
# What can be differentiated only once: the derivative by the first operand has no closed form.
_ONCE = {"igamma", "igammac"}
# Names whose value at infinities and NaN is not compared: what XLA gives there is unspecified.
_ONLY_FINITE = {"bessel_i0e", "bessel_i1e", "erf_inv", "lgamma", "digamma", "one_minus_square"}

_BINARY: dict[str, tuple[np.ndarray, np.ndarray, str]] = {
    "add": (ANY, OTHER, "fci"),
    "and": (ANY, OTHER, "ib"),
    "atan2": (ANY, OTHER, "f"),
    "complex": (ANY, OTHER, "r"),
    "div": (ANY, OTHER, "fci"),
    "eq": (ANY, OTHER, "fcib"),
    "ge": (ANY, OTHER, "fib"),
    "gt": (ANY, OTHER, "fib"),
    "igamma": (POSITIVE, ABOVE_ONE, "f"),
    "igamma_grad_a": (POSITIVE, ABOVE_ONE, "f"),
    "igammac": (POSITIVE, ABOVE_ONE, "f"),
    "le": (ANY, OTHER, "fib"),
    "lt": (ANY, OTHER, "fib"),
    "max": (ANY, OTHER, "fib"),
    "min": (ANY, OTHER, "fib"),
    "mul": (ANY, OTHER, "fci"),
    "mulhi": (ANY, OTHER, "i"),
    "ne": (ANY, OTHER, "fcib"),
    "nextafter": (ANY, OTHER, "r"),
    "or": (ANY, OTHER, "ib"),
    "polygamma": (np.array([[1.0, 2, 0], [3, 1, 2]]), POSITIVE, "f"),
    "pow": (POSITIVE, OTHER, "fc"),
    "random_gamma_grad": (POSITIVE, ABOVE_ONE, "f"),
    "rem": (ANY, OTHER, "fi"),
    "shift_left": (ANY, POSITIVE, "i"),
    "shift_right_arithmetic": (ANY, POSITIVE, "i"),
    "shift_right_logical": (ANY, POSITIVE, "i"),
    "sub": (ANY, OTHER, "fci"),
    "xor": (ANY, OTHER, "ib"),
    "zeta": (ABOVE_ONE, POSITIVE, "f"),
}
_BINARY_FUNCTIONS = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
# Operations on pairs that lead XLA to a value of its own for infinities.
_PAIRS_OF_SPECIALS = {"add", "sub", "mul", "div", "max", "min", "eq", "ne", "lt", "le", "gt", "ge"}


def _unary(name: str, values: np.ndarray, kinds: str) -> list[Example]:
    fun = getattr(lax, _FUNCTIONS.get(name, name))
    made = lambda x, **options: captured(name, fun, np.asarray(x), **options)
    found = []
    if "f" in kinds:
        found += [made(values.astype(F32)), made(values[0, 0].astype(F32))]
        found += [made(values[0].astype(BF16)), made(values[1].astype(F16))]
        found.append(made(np.zeros((2, 0), F32)))
        if name not in _ONLY_FINITE:
            found.append(made(SPECIAL.astype(F32), smooth=False))
    if "c" in kinds:
        # The direction of a complex number counts as constant.
        found.append(made(_complex(values), smooth=name != "sign"))
    if "i" in kinds:
        found += [made(INTEGERS.astype(t)) for t in (I32, I8)]
        if name not in ("abs", "neg"):
            found.append(made(np.array([0, 1, 200], U8)))
    if "b" in kinds:
        found.append(made(np.array([True, False])))
    return found


def _binary(name: str, x: np.ndarray, y: np.ndarray, kinds: str) -> list[Example]:
    fun = getattr(lax, _BINARY_FUNCTIONS.get(name, name))
    options: dict[str, Any] = {"fixed": _FIXED.get(name, ()), "order": 1 if name in _ONCE else 2}
    made = lambda x, y, smooth=True: captured(name, fun, x, y, smooth=smooth, **options)
    found = []
    if "f" in kinds or "r" in kinds:
        found.append(made(x.astype(F32), y.astype(F32)))
        params = found[0].params
        direct = lambda x, y: Example((x, y), params, **options)
        # Sizes of 1 and scalars are repeated by the primitive itself.
        found.append(direct(x[:, :1].astype(F32), y[:1].astype(F32)))
        found.append(direct(x.astype(F32), np.asarray(y[0, 0], F32)))
        found.append(direct(np.asarray(x[0, 1], F32), y.astype(F32)))
        found.append(direct(np.asarray(x[0, 1], F32), np.asarray(y[1, 1], F32)))
    if "f" in kinds:
        found.append(made(x[0].astype(BF16), y[0].astype(BF16)))
        found.append(made(x[0].astype(F16), y[0].astype(F16)))
        if name in _PAIRS_OF_SPECIALS:
            left, right = np.meshgrid(SPECIAL.astype(F32), SPECIAL.astype(F32))
            found.append(made(left, right, smooth=False))
    if "c" in kinds:
        found.append(made(_complex(x), _complex(y)))
    if "i" in kinds:
        found += [made(INTEGERS.astype(t), DIVISORS.astype(t)) for t in (I32, I8)]
        found.append(made(np.array([0, 7, 200], U8), np.array([0, 9, 3], U8)))
    if "b" in kinds:
        found.append(made(np.array([True, False, True]), np.array([True, True, False])))
    return found


def _total_order(name: str) -> list[Example]:
    left, right = np.meshgrid(SPECIAL.astype(F32), np.array([np.nan, -np.nan, 0.0, -0.0, 1], F32))
    return [Example((left, right)), Example((INTEGERS.astype(I32), DIVISORS.astype(I32)))]


def elementwise_examples() -> Examples:
    """The examples of all elementwise primitives that are defined."""
    table: Examples = {}
    for name, (values, kinds) in _UNARY.items():
        if name in primitives:
            table[name] = _unary(name, values, kinds)
    for name, (x, y, kinds) in _BINARY.items():
        if name in primitives:
            table[name] = _binary(name, x, y, kinds)
    for name in ("eq_to", "le_to", "lt_to"):
        if name in primitives:
            table[name] = _total_order(name)
    for name, examples in _OTHER.items():
        if name in primitives:
            table[name] = examples()
    return table


def _each(name: str, fun: Callable[..., Any], operands: Sequence[Any]) -> list[Example]:
    return [captured(name, fun, np.asarray(x)) for x in operands]


def _integer_pow() -> list[Example]:
    operands = (ANY.astype(F32), _complex(ANY), ANY[0].astype(BF16), np.asarray(F32(1.5)))
    powers = [
        example
        for y in (2, 3, -2, 7)
        for example in _each("integer_pow", lambda x, y=y: lax.integer_pow(x, y), operands)
    ]
    integers = INTEGERS.astype(I32)
    return [*powers, captured("integer_pow", lambda x: lax.integer_pow(x, 3), integers)]


def _pow() -> list[Example]:
    x = POSITIVE.astype(F32)
    mixed = captured("pow", lax.pow, x, np.array([[2, -1, 0], [3, 1, 2]], I32))
    return [*_binary("pow", *_BINARY["pow"]), mixed]


def _round() -> list[Example]:
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.2], F32)
    found = []
    for method in (lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN):
        fun = lambda x, method=method: lax.round(x, method)
        found += _each("round", fun, (ANY.astype(F32), ANY[0].astype(BF16)))
        found += [captured("round", fun, x, smooth=False) for x in (halves, SPECIAL.astype(F32))]
    return found


def _convert() -> list[Example]:
    found = []
    pairs = (
        (ANY, F32, I32),
        (ANY, F32, BF16),
        (ANY, F32, F16),
        (ANY, BF16, F32),
        (ANY, F32, C64),
        (ANY, F32, np.bool_),
        (INTEGERS, I32, F32),
        (INTEGERS, I32, I8),
        (INTEGERS, I8, U32),
        (INTEGERS, I32, np.bool_),
        (INTEGERS > 0, np.bool_, F32),
        (INTEGERS > 0, np.bool_, I32),
        (np.array([3e9, -3e9, np.nan, np.inf, 1e3]), F32, I32),
        (np.array([300.0, -3, np.nan, 7.9]), F32, U8),
    )
    for values, old, new in pairs:
        fun = lambda x, new=new: lax.convert_element_type(x, new)
        found.append(captured("convert_element_type", fun, values.astype(old)))
    return found


def _bitcast() -> list[Example]:
    pairs = (
        (ANY.astype(F32), I32),
        (INTEGERS.astype(I32), F32),
        (ANY.astype(F32), U8),
        (np.arange(8, dtype=U8).reshape(2, 4), U32),
        (np.asarray(F32(1.5)), U32),
        (ANY.astype(F16), BF16),
    )
    return [
        captured(
            "bitcast_convert_type", lambda x, t=t: lax.bitcast_convert_type(x, t), x, smooth=False
        )
        for x, t in pairs
    ]


def _reduce_precision() -> list[Example]:
    values = np.array([1.1, -3.3, 1e-10, 7e4, np.nan, np.inf, 0.0, 1.0625], F32)
    return [
        captured(
            "reduce_precision",
            lambda x, e=e, m=m: lax.reduce_precision(x, e, m),
            values,
            smooth=False,
        )
        for e, m in ((5, 10), (8, 7), (5, 2), (8, 23))
    ]


def _select_n() -> list[Example]:
    which = np.array([[True, False, True], [False, False, True]])
    numbers = np.array([[0, 2, 1], [2, 1, 0]], I32)
    x, y = ANY.astype(F32), OTHER.astype(F32)
    made = lambda *args: captured("select_n", lax.select_n, *args)
    return [
        made(which, x, y),
        made(np.asarray(True), x, y),
        made(numbers, x, y, x * y),
        made(np.asarray(I32(1)), x, y),
        made(which, _complex(ANY), _complex(OTHER)),
        made(which, INTEGERS.astype(I8), DIVISORS.astype(I8)),
        made(which, ANY.astype(BF16), OTHER.astype(BF16)),
        made(which, which, ~which),
        made(np.asarray(False), np.asarray(F32(1)), np.asarray(F32(2))),
    ]


def _clamp() -> list[Example]:
    low, x, high = (ANY - 0.5).astype(F32), OTHER.astype(F32), (ANY + 0.5).astype(F32)
    made = lambda *args: captured("clamp", lax.clamp, *args)
    return [
        made(low, x, high),
        made(np.asarray(F32(-1)), x, np.asarray(F32(1))),
        made(low, x, np.asarray(F32(3))),
        made(np.asarray(F32(-1)), np.asarray(F32(3)), np.asarray(F32(1))),
        made(np.asarray(I32(-5)), INTEGERS.astype(I32), np.asarray(I32(5))),
        made(np.asarray(BF16(-1)), ANY.astype(BF16), np.asarray(BF16(1))),
    ]


def _parts(name: str) -> Callable[[], list[Example]]:
    return lambda: _each(name, getattr(lax, name), (_complex(ANY), np.asarray(C64(1 + 2j))))


def _conj() -> list[Example]:
    # Of a real number, the conjugate is complex too.
    return _each("conj", lax.conj, (_complex(ANY), ANY.astype(F32), np.asarray(F32(2))))


def _add_any() -> list[Example]:
    return [
        Example((ANY.astype(F32), OTHER.astype(F32))),
        Example((_complex(ANY), _complex(OTHER))),
    ]


def _regularized_incomplete_beta() -> list[Example]:
    # The derivative by the first two operands is not defined.
    x = (np.abs(UNIT)).astype(F32)
    args = (POSITIVE.astype(F32), ABOVE_ONE.astype(F32), x)
    return [captured("regularized_incomplete_beta", lax.betainc, *args, fixed=(0, 1))]


def _copy(name: str) -> Callable[[], list[Example]]:
    operands = (ANY.astype(F32), np.asarray(I32(3)), _complex(ANY), np.array([True, False]))
    return lambda: [Example((x,)) for x in operands]


def _stop_gradient() -> list[Example]:
    # Its derivative is zero by decree.
    return [Example((ANY.astype(F32),), smooth=False), Example((np.asarray(I32(2)),))]


def _optimization_barrier() -> list[Example]:
    return [Example((ANY.astype(F32), INTEGERS.astype(I32))), Example((np.asarray(F32(2)),))]


_OTHER: dict[str, Callable[[], list[Example]]] = {
    "add_any": _add_any,
    "bitcast_convert_type": _bitcast,
    "clamp": _clamp,
    "conj": _conj,
    "convert_element_type": _convert,
    "copy": _copy("copy"),
    "copy_p": _copy("copy_p"),
    "imag": _parts("imag"),
    "integer_pow": _integer_pow,
    "optimization_barrier": _optimization_barrier,
    "pow": _pow,
    "real": _parts("real"),
    "reduce_precision": _reduce_precision,
    "regularized_incomplete_beta": _regularized_incomplete_beta,
    "round": _round,
    "select_n": _select_n,
    "stop_gradient": _stop_gradient,
}
