"""The rules by which equations are printed, and the forms that they may take."""

from collections.abc import Callable
from typing import Any

from ricci_ir._records import TupleRecord
from ricci_ir.traces._primitive import RuleTable, rule_table

__all__ = ["hides", "shown_rules", "Titled"]

# ``shown(**params)`` returns the parameters that a printed equation of a primitive shows; by
# default all of them. A dict is printed with ``name`` first and the others in alphabetical order, a
# list of pairs in its order. ``Titled`` parameters replace the name of the primitive as well.
shown_rules: RuleTable = rule_table("shown", required=False)

# ``notation(eqn, binder, atom)`` returns the text of an equation that is not printed as the others
# are; ``binder(var)`` and ``atom(atom)`` return the texts of results and operands.
notation_rules: RuleTable = rule_table("notation", required=False)


def hides(**defaults: object) -> Callable[..., dict[str, Any]]:
    """A ``shown`` rule that omits parameters with these default values.

    Example:
      >>> from ricci_ir import hides
      >>> hides(accuracy=None)(accuracy=None, axis=0)
      {'axis': 0}
    """

    def usual(name: str, value: object) -> bool:
        default = defaults[name]
        # None is compared by identity, since NumPy considers it equal to the dtype float64.
        return value is default if default is None else value == default

    def shown(**params: object) -> dict[str, Any]:
        return {
            name: value
            for name, value in params.items()
            if name not in defaults or not usual(name, value)
        }

    return shown


class Titled(TupleRecord):
    """The parameters that a printed equation shows, and a name in place of its primitive's.

    Attributes:
      name: the name.
      params: the names and values of the parameters, in their order.
    """

    name: str
    params: list[tuple[str, Any]]
