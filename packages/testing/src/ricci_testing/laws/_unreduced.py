"""The law of rules of kind ``sums``: what they say is linear."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci_ir import Primitive, ShapedArray, SumsOfBlock, get_aval, issubdtype, sum_rules
from ricci_testing.examples._example import Example

from ._types import assert_results_close, in_its_precision


@in_its_precision
def check_sums(primitive: Primitive, example: Example) -> str | None:
    """The results of the terms of a sum add up to the result of the sum.

    Each operand that may be a term is taken apart into two; the others stay.

    Raises:
      AssertionError: if they do not.
    """
    avals: list[Any] = list(map(get_aval, example.args))
    rule: SumsOfBlock = sum_rules.get(primitive)
    if callable(rule):
        rule = rule(*avals, **example.params)
    if rule is None or rule.terms == "none":
        return "it is not applied to terms of sums"
    if not all(isinstance(a, ShapedArray) and issubdtype(a.dtype, np.inexact) for a in avals):
        return "its operands are not floating-point numbers"
    places = range(len(avals))
    for chosen in [places] if rule.terms == "all" else [[i] for i in places]:
        whole, left, right = (list(example.args) for _ in range(3))
        for i in chosen:
            given = np.asarray(example.args[i])
            # Small integers: their sums are exact in every dtype.
            first = (np.arange(given.size).reshape(given.shape) % 5 - 2).astype(given.dtype)
            second = np.flip(first).astype(given.dtype)
            left[i], right[i], whole[i] = first, second, first + second
        # Some dtypes have no negative numbers, and give NaN for them in either order.
        with np.errstate(invalid="ignore"):
            _compare(primitive, example, [left, right, whole], f"operands {tuple(chosen)}")
    return None


def _compare(
    primitive: Primitive, example: Example, operands: Sequence[Sequence[Any]], where: str
) -> None:
    """Compare the sum of the results of terms with the result of their sum."""
    left, right, whole = (example.bind(primitive, *args) for args in operands)
    for one, other, total in zip(left, right, whole, strict=True):
        found = np.asarray(one) + np.asarray(other)
        what = f"the sum of the results of terms in {where}"
        assert_results_close(found, np.asarray(total), what, 8.0)
