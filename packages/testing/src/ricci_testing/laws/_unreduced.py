"""The law of ``sums`` rules: operations that accept unreduced operands are linear in them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_testing.examples._example import Example

from ._types import assert_results_close, in_example_precision


@in_example_precision
def check_unreduced(primitive: ir.Primitive, example: Example) -> str | None:
    """Check that the results of partial sums add up to the result of their sum.

    Each operand that may be unreduced is split into two terms; the others are not changed.

    Raises:
      AssertionError: if they do not.
    """
    avals: list[Any] = list(map(ir.get_aval, example.args))
    rule: ir.SumsOfBlock = ir.sum_rules.get(primitive)
    if callable(rule):
        rule = rule(*avals, **example.params)
    if rule is None or rule.terms == "none":
        return "it does not accept unreduced operands"
    if not all(isinstance(a, ir.ShapedArray) and ir.issubdtype(a.dtype, np.inexact) for a in avals):
        return "its operands are not floating-point numbers"
    positions = range(len(avals))
    for chosen in [positions] if rule.terms == "all" else [[i] for i in positions]:
        whole, left, right = (list(example.args) for _ in range(3))
        for i in chosen:
            operand = np.asarray(example.args[i])
            # Small integers, whose sums are exact in every dtype.
            first = (np.arange(operand.size).reshape(operand.shape) % 5 - 2).astype(operand.dtype)
            second = np.flip(first).astype(operand.dtype)
            left[i], right[i], whole[i] = first, second, first + second
        # Some dtypes have no negative numbers, and give NaN for them in either order.
        with np.errstate(invalid="ignore"):
            _compare(primitive, example, [left, right, whole], f"operands {tuple(chosen)}")
    return None


def _compare(
    primitive: ir.Primitive, example: Example, operands: Sequence[Sequence[Any]], operand_names: str
) -> None:
    """Compare the sum of the terms' results with the result of their sum."""
    left, right, whole = (example.bind(primitive, *args) for args in operands)
    for one, other, total in zip(left, right, whole, strict=True):
        actual = np.asarray(one) + np.asarray(other)
        what = f"the sum of the results of terms in {operand_names}"
        assert_results_close(actual, np.asarray(total), what, 8.0)
