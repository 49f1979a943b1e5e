"""How ``checkify`` looks into primitives: a kind of rule that a primitive may have.

``rule(log, primitive, operands, params)`` applies the primitive, tells ``log`` what went wrong,
and gives the results as a list. A primitive without one is applied as it is. The rules of this
package's primitives are in ``ricci_lax.checkify``.
"""

from ricci_ir import rule_table

__all__ = [
    "check_rules",
]

check_rules = rule_table("checkify", required=False)
