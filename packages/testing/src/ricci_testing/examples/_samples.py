"""Examples by the table of rules: operands from their domains, in all accepted dtypes."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ricci_ir import Primitive, bfloat16, primitives

from ._example import Example
from ._rules import Domain, Samples, example_rules, exempt_rules
from ._variants import accepts

F32, C64, BF16, F16 = np.float32, np.complex64, bfloat16, np.float16
I32, U8, I8, U32 = np.int32, np.uint8, np.int8, np.uint32

# Values without ties and away from the kinks of functions.
ANY = np.array([[0.3, -0.7, 1.2], [-1.9, 0.55, 2.4]])
OTHER = np.array([[1.1, 0.4, -1.6], [0.8, -2.2, 0.9]])
THIRD = np.array([[-0.6, 1.7, 0.25], [1.3, -0.85, -2.1]])
POSITIVE = np.array([[0.3, 0.7, 1.2], [1.9, 0.55, 2.4]])
UNIT = np.array([[0.3, -0.7, 0.2], [-0.9, 0.55, 0.4]])
ABOVE_ONE = np.array([[1.3, 1.7, 2.2], [3.9, 1.55, 2.4]])
WHOLE = np.array([[1.0, 2, 0], [3, 1, 2]])
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
INTEGERS = np.array([[5, -7, 0], [-128, 127, 3]])
DIVISORS = np.array([[3, 2, 0], [-1, -5, 7]])

# For each domain, the values of the first, second and third operand; later ones repeat these.
VALUES: dict[Domain, tuple[np.ndarray, ...]] = {
    Domain.ANY: (ANY, OTHER, THIRD),
    Domain.POSITIVE: (POSITIVE, POSITIVE, np.abs(OTHER)),
    Domain.UNIT: (UNIT, 0.4 * OTHER, 0.4 * THIRD),
    Domain.FRACTION: (np.abs(UNIT), np.abs(0.4 * OTHER), np.abs(UNIT)),
    Domain.ABOVE_ONE: (ABOVE_ONE, ABOVE_ONE, 1 + np.abs(THIRD)),
    Domain.WHOLE: (WHOLE, WHOLE[::-1], WHOLE),
}


def with_imaginary_part(values: np.ndarray) -> np.ndarray:
    """Complex numbers with these real parts, and imaginary parts of about the same size."""
    return (values + 0.4j * values[::-1]).astype(C64)


def sampled_examples() -> dict[str, list[Example]]:
    """The examples of the primitives that have a rule, by name."""
    return {name: examples_of(primitives[name]) for name in example_rules if name in primitives}


@cache
def examples_of(primitive: Primitive) -> list[Example]:
    """The examples of a primitive that has a rule.

    Raises:
      ValueError: if the primitive accepts none of them.
    """
    rule = example_rules[primitive.name]
    if isinstance(rule, Sequence) and not isinstance(rule, Samples):
        return [
            Example(
                tuple(map(np.asarray, args)),
                dict(params),
                fixed=over.fixed,
                axes=tuple(over.axes.items()),
            )
            for over in rule
            for args, params in over.pairs()
        ]
    if not isinstance(rule, Samples):
        return [Example(tuple(map(np.asarray, args)), dict(params)) for args, params in rule()]
    accepted = [e for e in _candidates(primitive, rule) if accepts(primitive, e)]
    if not accepted:
        count = len(rule.domains)
        raise ValueError(
            f"the primitive {primitive.name!r} accepts no example of {count} operand(s). Set "
            "example_rules[name] = samples(...) with a domain for each operand, and params= if it "
            "has any."
        )
    return accepted


def _candidates(primitive: Primitive, rule: Samples) -> Iterator[Example]:
    values = [VALUES[d][position % 3] for position, d in enumerate(rule.domains)]
    exempt = exempt_rules.get(primitive.name, {})
    options: dict[str, Any] = {"fixed": rule.fixed, "order": rule.order}
    for params in rule.params:

        def example(*args: Any, smooth: bool = True, params: dict[str, Any] = params) -> Example:
            return Example(tuple(map(np.asarray, args)), params, smooth=smooth, **options)

        yield from (example(*args) for args in _floats(values))
        specials = len(values) == 1 if rule.specials is None else rule.specials
        if specials:
            grids = np.meshgrid(*[SPECIAL.astype(F32)] * len(values))
            yield example(*grids, smooth=False)
        smooth = "complex derivatives" not in exempt
        yield example(*map(with_imaginary_part, values), smooth=smooth)
        yield from (example(*args) for args in _discrete(len(values)))


def _floats(values: Sequence[np.ndarray]) -> Iterator[list[Any]]:
    """Floating-point operands: arrays, and scalars and dimensions of size 1 to broadcast."""
    single = [x.astype(F32) for x in values]
    yield single
    if len(values) == 1:
        yield [x[0, 0] for x in single]
    else:
        yield [single[0][:, :1], *(x[:1] for x in single[1:])]
        scalars = [x[0, 0] if i else x[0, 1] for i, x in enumerate(single)]
        for position, x in enumerate(single):
            yield [x if i == position else scalar for i, scalar in enumerate(scalars)]
        yield [x[1, 1] if i else x[0, 1] for i, x in enumerate(single)]
    yield [x[0].astype(BF16) for x in values]
    yield [x[-1 if len(values) == 1 else 0].astype(F16) for x in values]
    yield [np.zeros((2, 0), F32) for _ in values]


def _discrete(count: int) -> Iterator[list[np.ndarray]]:
    """Integer operands, with the extremes of 8-bit dtypes, and Boolean ones."""
    whole = [INTEGERS, DIVISORS, np.flip(INTEGERS)]
    for dtype in (I32, I8):
        yield [whole[i % 3].astype(dtype) for i in range(count)]
    unsigned = [np.array(x, U8) for x in ([0, 7, 200], [0, 9, 3], [1, 255, 4])]
    yield [unsigned[i % 3] for i in range(count)] if count > 1 else [np.array([0, 1, 200], U8)]
    truth = [np.array(x) for x in ([True, False, True], [True, True, False], [False, True, True])]
    yield [truth[i % 3] for i in range(count)]
