"""The table of examples: for each primitive, operands and parameters to check the laws on."""

from functools import cache

from ._example import Example
from ._examples_arrays import array_examples
from ._examples_elementwise import elementwise_examples
from ._examples_programs import program_examples

# Primitives that the laws are not checked on, and why.
WITHOUT_EXAMPLES = {
    "custom_lin": "it stands for a tangent's program on a tape, and is only ever transposed",
}


@cache
def examples() -> dict[str, list[Example]]:
    """For each primitive of ``ricci_lax`` by name, examples of its operands and parameters."""
    return {**elementwise_examples(), **array_examples(), **program_examples()}
