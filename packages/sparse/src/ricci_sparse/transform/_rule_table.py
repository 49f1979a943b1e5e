"""The table of sparse rules by primitive."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import Primitive

from ._values import ArrayOrSparse, SparsifyEnv, SparsifyValue, to_array, to_value

__all__ = ["sparse_rules_bcoo", "sparse_rules_bcsr"]

type SparseRule = Callable[..., Sequence[SparsifyValue]]

# ``rule(spenv, *spvalues, **params)`` gives the results as a sequence of values of ``spenv``. The
# first table is used for operands of which none is a BCSR array.
sparse_rules_bcoo: dict[Primitive, SparseRule] = {}
sparse_rules_bcsr: dict[Primitive, SparseRule] = {}


# Functions that return the rule of a primitive that is in neither table, or None.
further_rules: list[Callable[[Primitive], SparseRule | None]] = []


def of_arrays(fun: Callable[..., Any], multiple_results: bool = False) -> SparseRule:
    """A rule from a function of arrays, some of which are sparse.

    A result with the indices of an operand refers to the same indices in the environment.
    """

    def rule(spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any) -> list[SparsifyValue]:
        outs = fun(*(to_array(spenv, v) for v in spvalues), **params)
        return [placed(spenv, x, spvalues) for x in (outs if multiple_results else (outs,))]

    return rule


def placed(
    spenv: SparsifyEnv, x: ArrayOrSparse, operands: Sequence[SparsifyValue]
) -> SparsifyValue:
    """Put a result into the environment, which shares the indices of operands."""
    value = to_value(spenv, x)
    if value.is_sparse():
        indices = spenv.indices(value)
        for other in operands:
            if other.is_sparse() and spenv.indices(other) is indices:
                return value._replace(indices_ref=other.indices_ref)
    return value


def apply_rule(
    primitive: Primitive,
    spenv: SparsifyEnv,
    spvalues: Sequence[SparsifyValue],
    params: dict[str, Any],
) -> Sequence[SparsifyValue]:
    """Apply the rule of a primitive to operands of which at least one is sparse.

    Raises:
      NotImplementedError: if it has no rule for them.
    """
    by_rows = any(v.is_bcsr() for v in spvalues)
    rule = (sparse_rules_bcsr if by_rows else sparse_rules_bcoo).get(primitive)
    for find in further_rules:
        rule = rule or find(primitive)
    if rule is None:
        kinds = ", ".join(
            "dense" if v.is_dense() else "BCSR" if v.is_bcsr() else "BCOO" for v in spvalues
        )
        raise NotImplementedError(
            f"sparsify: {primitive.name} has no rule for operands that are sparse: {kinds}. Make "
            "them dense first, with ricci.experimental.sparse.todense, if they are small enough."
        )
    return rule(spenv, *spvalues, **params)
