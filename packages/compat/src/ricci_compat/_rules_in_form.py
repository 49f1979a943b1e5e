"""Tables of rules in the form in which libraries written for JAX register them."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from ricci_ir import Primitive, RuleTable


class RulesInForm[R](MutableMapping[Primitive, R]):
    """A view of a table of rules that converts between JAX's form of a rule and Ricci's.

    Args:
      table: the rules in Ricci's form.
      adapt: converts a rule of this form to Ricci's.
      expose: converts a rule of Ricci's to this form.
    """

    __slots__ = ("_adapt", "_expose", "_originals", "_table")

    def __init__(self, table: RuleTable, adapt: Callable[[R], Any], expose: Callable[[Any], R]):
        self._table = table
        self._adapt = adapt
        self._expose = expose
        # The rules that were set by this view, in both forms, so that reading returns the original.
        self._originals: dict[Primitive, tuple[R, Any]] = {}

    def __getitem__(self, primitive: Primitive) -> R:
        if primitive not in self._table:
            raise KeyError(primitive)
        rule = self._table[primitive]
        entry = self._originals.get(primitive)
        return entry[0] if entry is not None and entry[1] is rule else self._expose(rule)

    def __setitem__(self, primitive: Primitive, rule: R) -> None:
        adapted = self._adapt(rule)
        self._originals[primitive] = rule, adapted
        self._table[primitive] = adapted

    def __delitem__(self, primitive: Primitive) -> None:
        self._originals.pop(primitive, None)
        del self._table[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)
