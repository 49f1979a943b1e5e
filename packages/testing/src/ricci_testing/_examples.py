"""The table of examples: for each primitive, operands and parameters to check the laws on."""

from functools import cache

from ricci_ir import primitives
from ricci_lax.checkify import check_p

from ._example import Example
from ._examples_arrays import array_examples
from ._examples_contractions import contraction_examples
from ._examples_control_flow import control_flow_examples
from ._examples_elementwise import elementwise_examples
from ._examples_fourier import fourier_examples
from ._examples_linalg import linalg_examples
from ._examples_nonsymmetric import nonsymmetric_examples
from ._examples_programs import program_examples
from ._examples_spectral import spectral_examples
from ._variants import variants

# Primitives that the laws are not checked on, and why.
WITHOUT_EXAMPLES = {
    "after_all": "its operands are tokens, which hold no values",
    check_p.name: "it gives nothing",
    "create_token": "it gives a token, which holds no value",
    "custom_lin": "it stands for a tangent's program on a tape, and is only ever transposed",
    "debug_callback": "it gives nothing",
    "debug_print": "it gives nothing",
    "io_callback": "what it gives is not a function of its operands",
    "pure_callback": "the types that it gives are parameters, and do not follow its operands'",
    "rng_bit_generator": "all examples of a batch draw from one key, so that vmap is not the loop",
    "rng_uniform": "it computes other numbers with every call",
}


@cache
def examples() -> dict[str, list[Example]]:
    """For each primitive of ``ricci_lax`` by name, examples of its operands and parameters."""
    return {
        **elementwise_examples(),
        **array_examples(),
        **program_examples(),
        **contraction_examples(),
        **control_flow_examples(),
        **linalg_examples(),
        **spectral_examples(),
        **fourier_examples(),
        **nonsymmetric_examples(),
    }


@cache
def cases(name: str, *, full: bool = False) -> list[Example]:
    """What the laws are checked on: a primitive's examples and their variants.

    Args:
      name: the primitive.
      full: all variants, instead of one for each dtype family and shape that no example has.
    """
    found = examples()[name]
    return [*found, *variants(primitives[name], found, full=full)]
