"""Products of transposed matrices, and transposed products, as single products.

XLA folds transpositions into products as well. It does so after the lowering rule of a product has
chosen a form by which of its dimensions are contracted, so that on CPUs they are folded before.
"""

from collections import Counter

import ricci_ir as ir
from ricci_ir import Atom, Jaxpr, JaxprEqn, Shape, Var
from ricci_lax.structure._transposing import transpose_p

from ._precision import is_symmetric

__all__ = ["fold_into_products", "swaps_matrix"]


def swaps_matrix(permutation: Shape) -> bool:
    """Whether a permutation exchanges the last two dimensions and keeps the others."""
    rank = len(permutation)
    return rank >= 2 and permutation == (*range(rank - 2), rank - 1, rank - 2)


def _makes_matrices(eqn: JaxprEqn) -> bool:
    """Whether each operand has one dimension that is neither contracted nor of the batch."""
    contracting, batches = eqn.params["dimension_numbers"]
    shared = len(contracting[0]) + len(batches[0])
    return all(len(atom.aval.shape) == shared + 1 for atom in eqn.invars)


def _of_untransposed(eqn: JaxprEqn, matrices: dict[Atom, Atom]) -> JaxprEqn:
    """Return a product of the matrices whose transposes an equation multiplies.

    Args:
      eqn: a product.
      matrices: for each transpose, the matrix.
    """
    contracting, batches = eqn.params["dimension_numbers"]
    operands, contracted = list(eqn.invars), list(contracting)
    for i, (atom, dims, batch) in enumerate(zip(eqn.invars, contracting, batches, strict=True)):
        last = len(atom.aval.shape) - 1
        if atom in matrices and len(dims) == 1 and batch == tuple(range(last - 1)):
            operands[i], contracted[i] = matrices[atom], (2 * last - 1 - dims[0],)
    params = {**eqn.params, "dimension_numbers": (tuple(contracted), batches)}
    return eqn.replace(invars=operands, params=params)


def _exchanged(eqn: JaxprEqn, result: Var) -> JaxprEqn:
    """Return the product that is the transpose of a product."""
    params = dict(eqn.params)
    params["dimension_numbers"] = tuple(pair[::-1] for pair in params["dimension_numbers"])
    return eqn.replace(invars=[*eqn.invars[::-1]], outvars=[result], params=params)


def fold_into_products(jaxpr: Jaxpr) -> Jaxpr:
    """Return a jaxpr in which products take matrices rather than their transposes.

    A product is exchanged with its transpose where nothing else uses it.
    """
    # One that held itself among its derived forms would be a reference cycle.
    if not any(eqn.primitive is transpose_p for eqn in jaxpr.eqns):
        return jaxpr
    return jaxpr.derived("folded transpositions", lambda: _fold(jaxpr))


def _fold(jaxpr: Jaxpr) -> Jaxpr:
    dot_general_p = ir.primitives["dot_general"]  # of the module that imports this one
    uses = Counter(atom for eqn in jaxpr.eqns for atom in eqn.invars)
    uses.update(jaxpr.outvars)
    products: dict[Atom, int] = {}  # the positions of their equations
    matrices: dict[Atom, Atom] = {}  # those whose transposes there are
    eqns = list(jaxpr.eqns)
    replaced: set[int] = set()
    for i, eqn in enumerate(eqns):
        if eqn.primitive is dot_general_p:
            eqns[i] = _of_untransposed(eqn, matrices)
            if _makes_matrices(eqn):
                products[eqn.outvars[0]] = i
        elif eqn.primitive is transpose_p and swaps_matrix(eqn.params["permutation"]):
            (operand,), (result,) = eqn.invars, eqn.outvars
            position = products.get(operand) if uses[operand] == 1 else None
            if position is None or not is_symmetric(eqns[position].params["precision"]):
                matrices[result] = operand
                continue
            eqns[i] = _exchanged(eqns[position], result)
            products[result] = i
            replaced.add(position)
    eqns = [eqn for i, eqn in enumerate(eqns) if i not in replaced]
    # Most transpositions are unused now.
    used = {atom for eqn in eqns for atom in eqn.invars}.union(jaxpr.outvars)
    return jaxpr.replace(
        eqns=[e for e in eqns if e.primitive is not transpose_p or e.outvars[0] in used]
    )
