"""The padding rules of the primitives of ``ricci_lax``, and of those that use random keys."""

from ._contractions import contraction_rules, matrix_rules
from ._control_flow import control_rules
from ._indexing import indexing_rules
from ._interpreter import padding_rules
from ._moves import move_rules
from ._random import key_rules
from ._reductions import reduction_rules

padding_rules.update(
    {
        **contraction_rules,
        **control_rules,
        **indexing_rules,
        **key_rules,
        **matrix_rules,
        **move_rules,
        **reduction_rules,
    }
)
