"""Checkify rules: how ``checkify`` checks a primitive.

``rule(log, primitive, operands, params)`` applies the primitive, reports errors to ``log`` and
returns the results as a list. A primitive without a rule is applied without checks.

Elementwise primitives have ``checks_nan`` unless their definition has another rule. Rules that need
other operations, such as those of indexing and control flow, are in ``checkify``.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ricci_ir import Array, ArrayLike, Primitive, RuleTable, rule_table

__all__ = ["check_rules"]

check_rules: RuleTable = rule_table("checkify", required=False)


class Log(Protocol):
    """The log to which a rule reports errors, implemented by ``checkify``."""

    def report_nans(self, primitive: Primitive, results: Sequence[ArrayLike]) -> None:
        """Report NaNs among the results."""
        ...

    def report_zeros(self, divisor: ArrayLike) -> None:
        """Report zeros in a divisor."""
        ...


def bound(
    primitive: Primitive, operands: Sequence[ArrayLike], params: dict[str, Any]
) -> list[Array]:
    """The results of a primitive as a list, whether it has one or several."""
    result = primitive.bind(*operands, **params)
    return result if primitive.multiple_results else [result]


def checks_nan(
    log: Log, primitive: Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Array]:
    """The rule of an operation whose results can be NaN."""
    results = bound(primitive, operands, params)
    log.report_nans(primitive, results)
    return results


def checks_division(
    log: Log, primitive: Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Array]:
    """The rule of an operation that divides by its second operand."""
    log.report_zeros(operands[1])
    return checks_nan(log, primitive, operands, params)


def makes_no_nan(
    log: Log, primitive: Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Array]:
    """The rule of an operation that moves, selects or rounds values and so makes no new NaN."""
    return bound(primitive, operands, params)
