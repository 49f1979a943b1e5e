"""Examples of elementwise primitives that need more than samples.

Their parameters follow from the operands, or they are not elementwise in every operand.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_lax as lax

from ._example import Example, captured
from ._samples import (
    ANY,
    BF16,
    C64,
    DIVISORS,
    F16,
    F32,
    I8,
    I32,
    INTEGERS,
    OTHER,
    POSITIVE,
    SPECIAL,
    U8,
    U32,
    examples_of,
)
from ._samples import with_imaginary_part as _complex

Examples = dict[str, list[Example]]


def _total_order() -> list[Example]:
    left, right = np.meshgrid(SPECIAL.astype(F32), np.array([np.nan, -np.nan, 0.0, -0.0, 1], F32))
    return [Example((left, right)), Example((INTEGERS.astype(I32), DIVISORS.astype(I32)))]


def elementwise_examples() -> Examples:
    """The examples of these primitives, by name."""
    return {name: examples() for name, examples in _TABLE.items()}


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
    # The exponent may have an integer dtype as well.
    whole = np.array([[2, -1, 0], [3, 1, 2]], I32)
    sampled = examples_of(lax.pow_p)
    return [*sampled, captured("pow", lax.pow, POSITIVE.astype(F32), whole)]


def _round() -> list[Example]:
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.2], F32)
    examples = []
    for method in (lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN):
        fun = lambda x, method=method: lax.round(x, method)
        examples += _each("round", fun, (ANY.astype(F32), ANY[0].astype(BF16)))
        examples += [captured("round", fun, x, smooth=False) for x in (halves, SPECIAL.astype(F32))]
    return examples


def _convert() -> list[Example]:
    examples = []
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
        examples.append(captured("convert_element_type", fun, values.astype(old)))
    return examples


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
    example = lambda *args: captured("select_n", lax.select_n, *args)
    return [
        example(which, x, y),
        example(np.asarray(True), x, y),
        example(numbers, x, y, x * y),
        example(np.asarray(I32(1)), x, y),
        example(which, _complex(ANY), _complex(OTHER)),
        example(which, INTEGERS.astype(I8), DIVISORS.astype(I8)),
        example(which, ANY.astype(BF16), OTHER.astype(BF16)),
        example(which, which, ~which),
        example(np.asarray(False), np.asarray(F32(1)), np.asarray(F32(2))),
    ]


def _clamp() -> list[Example]:
    low, x, high = (ANY - 0.5).astype(F32), OTHER.astype(F32), (ANY + 0.5).astype(F32)
    example = lambda *args: captured("clamp", lax.clamp, *args)
    return [
        example(low, x, high),
        example(np.asarray(F32(-1)), x, np.asarray(F32(1))),
        example(low, x, np.asarray(F32(3))),
        example(np.asarray(F32(-1)), np.asarray(F32(3)), np.asarray(F32(1))),
        example(np.asarray(I32(-5)), INTEGERS.astype(I32), np.asarray(I32(5))),
        example(np.asarray(BF16(-1)), ANY.astype(BF16), np.asarray(BF16(1))),
    ]


def _conj() -> list[Example]:
    # The conjugate of a real number is complex as well.
    return _each("conj", lax.conj, (_complex(ANY), ANY.astype(F32), np.asarray(F32(2))))


def _add_any() -> list[Example]:
    # Tangents have one shape: nothing is broadcast.
    return [
        Example((ANY.astype(F32), OTHER.astype(F32))),
        Example((_complex(ANY), _complex(OTHER))),
    ]


def _stop_gradient() -> list[Example]:
    # The derivative is zero by definition, so finite differences do not apply.
    return [Example((ANY.astype(F32),), smooth=False), Example((np.asarray(I32(2)),))]


def _optimization_barrier() -> list[Example]:
    return [Example((ANY.astype(F32), INTEGERS.astype(I32))), Example((np.asarray(F32(2)),))]


_TABLE: dict[str, Callable[[], list[Example]]] = {
    "add_any": _add_any,
    "bitcast_convert_type": _bitcast,
    "clamp": _clamp,
    "conj": _conj,
    "convert_element_type": _convert,
    "eq_to": _total_order,
    "le_to": _total_order,
    "lt_to": _total_order,
    "integer_pow": _integer_pow,
    "optimization_barrier": _optimization_barrier,
    "pow": _pow,
    "reduce_precision": _reduce_precision,
    "round": _round,
    "select_n": _select_n,
    "stop_gradient": _stop_gradient,
}
