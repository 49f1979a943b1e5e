"""The laws that every primitive must obey, each a function that raises ``AssertionError``.

They run on whatever backend is set; ``ricci_reference`` computes in double precision without a
compiler, so derivatives are checked there.
"""

from ._law_batching import check_batched_derivatives, check_batching, check_nested_batching
from ._law_checkpoint import check_checkpoint
from ._law_derivatives import (
    check_derivatives,
    check_linear_transpose,
    check_linearize,
    check_second_order,
)
from ._law_programs import check_well_formed
from ._law_types import Law, check_abstract_type

# By what they say, the laws that need no compiler.
LAWS: dict[str, Law] = {
    "the abstract type is the type computed": check_abstract_type,
    "derivatives are those of finite differences": check_derivatives,
    "second derivatives are those of finite differences": check_second_order,
    "linearize is jvp": check_linearize,
    "linear_transpose is the transpose": check_linear_transpose,
    "checkpoint changes nothing": check_checkpoint,
    "vmap is the loop": check_batching,
    "vmap of vmap is the loop in a loop": check_nested_batching,
    "vmap of derivatives is the loop": check_batched_derivatives,
    "programs are well formed": check_well_formed,
}
