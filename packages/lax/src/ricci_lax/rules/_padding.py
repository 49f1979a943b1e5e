"""The kind of rule ``padding``: how an operation is computed on arrays that are padded.

A dimension whose size is symbolic in a program's types is held in an array of a larger size: its
elements come first, and what follows is padding, of any content. A rule computes the operation so
that no element of its results depends on padding: ``rule(site, *operands)`` gives the result, or a
list of them, padded in the same way. ``ricci_buckets`` calls it.

Elementwise operations (``follow=0``), and primitives that stand for a program, need no rule.
"""

from typing import Any, NoReturn, Protocol

from ricci_ir import RuleTable, rule_table

padding_rules: RuleTable = rule_table("padding", required=False)


class PaddedSite(Protocol):
    """What a rule knows of the equation that it computes.

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
        """Raise the error that says why padding may reach a result, and what to do instead."""
        ...


def padding_stays(site: PaddedSite, *operands: object) -> Any:
    """The rule of operations whose results have the padding of their operands."""
    return site.bind(*operands)
