"""The rule kind ``padding``: computing an operation on padded arrays.

A dimension whose size is symbolic in a jaxpr's types is stored in an array of a larger size: its
elements come first, followed by padding of any content. A rule computes the operation so that no
element of its results depends on padding: ``rule(site, *operands)`` returns the result, or a list
of them, padded in the same way. ``ricci_buckets`` calls it.

Elementwise operations (``follow=0``), and primitives that call a jaxpr, need no rule.
"""

from typing import Any, NoReturn, Protocol

from ricci_ir import RuleTable, rule_table

padding_rules: RuleTable = rule_table("padding", required=False)


class PaddedSite(Protocol):
    """The interface of an equation to its padding rule.

    Attributes:
      params: the equation's parameters; sizes among them may be symbolic.
      ins, outs: the types of operands and results, with their symbolic sizes.
    """

    params: dict[str, Any]
    ins: list[Any]
    outs: list[Any]

    def bind(self, *operands: object, **changes: object) -> Any:
        """Apply the primitive to padded arrays, with parameters of their sizes."""
        ...

    def refuse(self, reason: str, remedy: str) -> NoReturn:
        """Raise an error with the reason why padding may reach a result, and the remedy."""
        ...


def padding_stays(site: PaddedSite, *operands: object) -> Any:
    """The rule of operations whose results have the padding of their operands."""
    return site.bind(*operands)
