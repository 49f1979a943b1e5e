"""The kind of rules by which primitives become Triton's operations."""

import ricci_ir as ir

# ``rule(writer, eqn, *operands)`` appends the operations of an equation, and returns its results.
triton_rules: ir.RuleTable = ir.rule_table("triton", required=False)
