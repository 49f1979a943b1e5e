"""Saving rules: saved residuals inside of loops and branches, for rematerialisation.

``checkpoint`` runs a jaxpr forward, and parts of it again in the backward pass. A policy selects
the values that are saved in between, also inside of an operation's jaxprs. The operation is then
split in two: one that returns saved values, and one that reads them and recomputes the others.
"""

from typing import Any

from ricci_ir import AbstractValue, RuleTable, TupleRecord, exported, rule_table

__all__ = ["Saving", "recomputation_rules", "saving_rules"]

# ``rule(params, policy, needed)`` returns a ``Saving``, or ``None`` if nothing inside is saved.
# ``needed`` flags the results of the recomputation.
saving_rules: RuleTable = rule_table("saving", required=False)


# ``rule(policy, *operands, **params)`` applies an operation inside of a differentiated checkpoint:
# its results are those of the forward pass, with substitutes for the backward pass. ``None`` if the
# operation is applied as it is.
recomputation_rules: RuleTable = rule_table("recomputation", required=False)


@exported
class Saving(TupleRecord):
    """An operation that returns saved values, and one that reads them.

    Attributes:
      first: the parameters of the first, which returns further results behind its own.
      avals: the types of the further results.
      saved: the saved values, as positions among all its results.
      again: the parameters of the second, which takes the saved values behind its operands.
      operands: for each operand, whether the second takes it.
      results: for each result of the operation, whether the second returns it.
    """

    first: dict[str, Any]
    avals: list[AbstractValue]
    saved: list[int]
    again: dict[str, Any]
    operands: tuple[bool, ...]
    results: tuple[bool, ...]
