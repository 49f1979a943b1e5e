"""Registration of this package's rules in the table ``padding``."""

from ricci_lax.authoring import padding_rules

from ._contractions import contraction_rules
from ._control_flow import control_rules
from ._indexing import indexing_rules
from ._matrices import matrix_rules
from ._moves import move_rules
from ._reductions import reduction_rules

for _table in (
    reduction_rules,
    move_rules,
    contraction_rules,
    matrix_rules,
    indexing_rules,
    control_rules,
):
    for _primitive, _rule in _table.items():
        padding_rules.define(_primitive, _rule)
