"""How ``checkify`` looks into primitives: a kind of rule that a primitive may have.

``rule(log, primitive, operands, params)`` applies the primitive, tells ``log`` what went wrong,
and gives the results as a list. A primitive without one is applied as it is.

Elementwise primitives have ``checks_nan`` unless their block says otherwise. The rules that need
operations of their own, such as those of indexing and of control flow, are in ``checkify``.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ricci_ir import Primitive, rule_table

__all__ = [
    "check_rules",
]

check_rules = rule_table("checkify", required=False)


class Log(Protocol):
    """What a rule tells of an operation's results; ``checkify`` writes it down."""

    def report_nans(self, primitive: Primitive, results: Sequence[Any]) -> None:
        """Look for NaN among the results."""
        ...

    def report_zeros(self, divisor: Any) -> None:
        """Look for zeros in what is divided by."""
        ...


def bound(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The results of a primitive as a list, whether it has one or several."""
    result = primitive.bind(*operands, **params)
    return result if primitive.multiple_results else [result]


def checks_nan(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    """The rule of an operation that can make a NaN, or pass on one from outside."""
    results = bound(primitive, operands, params)
    log.report_nans(primitive, results)
    return results


def checks_division(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    """The rule of an operation that divides by its second operand."""
    log.report_zeros(operands[1])
    return checks_nan(log, primitive, operands, params)


def makes_no_nan(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    """The rule of an operation that moves, selects or rounds values: no NaN begins there."""
    return bound(primitive, operands, params)
