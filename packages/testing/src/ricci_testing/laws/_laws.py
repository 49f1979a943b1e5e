"""The laws that every primitive must obey, each a function that raises ``AssertionError``.

They run on the current backend. Derivatives are best checked with ``ricci_reference``, which
computes in double precision and compiles nothing.
"""

from collections.abc import Iterable

from ricci_ir import Primitive
from ricci_testing.examples._table import cases

from . import _derivatives as derivatives
from ._batching import check_batched_derivatives, check_batching, check_nested_batching
from ._jaxprs import check_well_formed
from ._jets import check_jets
from ._shardings import check_shardings, check_unreduced
from ._types import Law, check_abstract_type

# The laws that need no compiler, by the statements that they check.
LAWS: dict[str, Law] = {
    "the abstract type is the type computed": check_abstract_type,
    "derivatives are those of finite differences": derivatives.check_derivatives,
    "second derivatives are those of finite differences": derivatives.check_second_order,
    "jets are nested jvp": check_jets,
    "linearize is jvp": derivatives.check_linearize,
    "linear_transpose is the transpose": derivatives.check_linear_transpose,
    "checkpoint changes nothing": derivatives.check_checkpoint,
    "vmap is the loop": check_batching,
    "vmap of vmap is the loop in a loop": check_nested_batching,
    "vmap of derivatives is the loop": check_batched_derivatives,
    "jaxprs are well formed": check_well_formed,
    "sharding rules propagate or raise": check_shardings,
    "operations on unreduced operands are linear": check_unreduced,
}


def check_laws(
    primitive: Primitive, *, laws: Iterable[str] = tuple(LAWS), most: int | None = None
) -> None:
    """Check the laws on the examples of a primitive and on their variants.

    Args:
      primitive: a primitive with an entry in ``example_rules``, or in one of the other tables.
      laws: the names of laws of ``LAWS``.
      most: the maximum number of examples and variants, evenly spaced; ``None`` for all.

    Raises:
      AssertionError: if a law is broken; a note names the law and the example.
      KeyError: if the primitive has no examples.

    Example:
      >>> from ricci import lax
      >>> from ricci_testing import check_laws
      >>> check_laws(lax.sin_p, laws=["vmap is the loop", "linearize is jvp"])
    """
    selected = cases(primitive.name)
    if most is not None and len(selected) > most:
        selected = [selected[i * len(selected) // most] for i in range(most)]
    for law in laws:
        for case in selected:
            try:
                LAWS[law](primitive, case)
            except Exception as error:
                error.add_note(f"the law {law!r} of {primitive.name}{case}")
                raise
