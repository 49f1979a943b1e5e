"""Cholesky factors of `(x + xᵀ) / 2`, whose kernel for CPUs reads both triangles of `x` itself.

`cholesky` makes its operand symmetric first. XLA adds the transpose in one loop, which reads it by
columns: for 512 rows that takes as long as the factorization.
"""

from collections import Counter

from ricci_ir import Atom, Jaxpr, JaxprEqn, Literal

from ._transposed_products import swaps_matrix

__all__ = ["fold_symmetrization"]


def fold_symmetrization(jaxpr: Jaxpr) -> Jaxpr:
    """Return a jaxpr whose Cholesky factorizations make their operands symmetric."""
    if not any(eqn.primitive.name == "cholesky" for eqn in jaxpr.eqns):
        return jaxpr
    # A jaxpr that held itself among its derived forms would be a reference cycle.
    return jaxpr.derived("symmetric factors", lambda: _fold(jaxpr)) or jaxpr


def _fold(jaxpr: Jaxpr) -> Jaxpr | tuple[()]:
    """Return a jaxpr with such factorizations, or ``()`` where there are none."""
    producers: dict[Atom, JaxprEqn] = {}
    eqns = [*jaxpr.eqns]
    replaced = 0
    for i, eqn in enumerate(eqns):
        producers.update(dict.fromkeys(eqn.outvars, eqn))
        if eqn.primitive.name == "cholesky":
            matrix = _symmetrized(eqn.invars[0], producers)
            if matrix is not None:
                eqns[i] = eqn.replace(invars=[matrix], params={"symmetrizes": True})
                replaced += 1
    if not replaced:
        return ()
    uses = Counter(atom for eqn in eqns for atom in eqn.invars)
    uses.update(jaxpr.outvars)
    used: list[JaxprEqn] = []
    for eqn in reversed(eqns):
        if eqn.primitive.name in ("add", "div", "transpose") and not uses[eqn.outvars[0]]:
            uses.subtract(eqn.invars)
        else:
            used.append(eqn)
    return jaxpr.replace(eqns=used[::-1])


def _symmetrized(atom: Atom, producers: dict[Atom, JaxprEqn]) -> Atom | None:
    """Return the matrix ``x`` of which a value is ``(x + xᵀ) / 2``, or None."""
    half = producers.get(atom)
    if half is None or half.primitive.name != "div":
        return None
    total, two = producers.get(half.invars[0]), half.invars[1]
    if total is None or total.primitive.name != "add":
        return None
    if type(two) is not Literal or two.val != 2:
        return None
    for matrix, other in (total.invars, total.invars[::-1]):
        turned = producers.get(other)
        if turned is not None and turned.primitive.name == "transpose":
            if turned.invars[0] is matrix and swaps_matrix(turned.params["permutation"]):
                return matrix
    return None
