"""Operands that XLA's CPU backend transposes for a product, each stored before.

The gradient of a layer's weights is the product of the layer's inputs, transposed, and a cotangent.
XLA copies the left operand so that its contracted dimension is last, and fuses the copy with what
computes the operand. The fused loop reads each array that it needs by columns, one element of a
cache line at a time. A barrier has the operand stored in its own order, often for another product
as well; the copy is then a transposition by blocks.
"""

import numpy as np

import ricci_ir as ir
from ricci_ir import Atom, Jaxpr, JaxprEqn, Var

__all__ = ["store_transposed_operands"]

_LEAST_SIZE = 8192  # elements: of fewer, the copy takes as long as either way
# Operations that only move or repeat elements: XLA folds them into a product, or simplifies them.
_MOVES = frozenset(("broadcast_in_dim", "copy", "iota", "transpose"))
# Operations whose results are stored in any case.
_STORED = frozenset(("conv_general_dilated", "dot_general", "optimization_barrier"))
_RESHAPES = frozenset(("expand_dims", "reshape", "squeeze"))


def store_transposed_operands(jaxpr: Jaxpr) -> Jaxpr:
    """Return a jaxpr with barriers behind the computed operands that XLA transposes."""
    if not any(_transposes_left(eqn) for eqn in jaxpr.eqns):
        return jaxpr
    # A jaxpr that held itself among its derived forms would be a reference cycle.
    return jaxpr.derived("stored operands", lambda: _store(jaxpr)) or jaxpr


def _transposes_left(eqn: JaxprEqn) -> bool:
    """Whether an equation is a product of which XLA copies the left operand."""
    if eqn.primitive.name != "dot_general":
        return False
    (contracting, _), (batch, _) = eqn.params["dimension_numbers"]
    aval = eqn.invars[0].aval
    assert isinstance(aval, ir.ShapedArray)
    if not ir.is_static_shape(aval.shape) or aval.size < _LEAST_SIZE:
        return False
    # Of complex numbers there is no copy.
    if not ir.issubdtype(aval.dtype, np.number) or ir.issubdtype(aval.dtype, np.complexfloating):
        return False
    last = tuple(range(aval.ndim - len(contracting), aval.ndim))
    has_rows = len(contracting) + len(batch) < aval.ndim
    return has_rows and len(contracting) > 0 and tuple(sorted(contracting)) != last


def _store(jaxpr: Jaxpr) -> Jaxpr | tuple[()]:
    """Return a jaxpr with such barriers, or ``()`` where there are none."""
    barrier_p = ir.primitives["optimization_barrier"]
    producers: dict[Atom, JaxprEqn] = {}
    stored: dict[Atom, Var] = {}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        producers.update(dict.fromkeys(eqn.outvars, eqn))
        if not _transposes_left(eqn):
            eqns.append(eqn)
            continue
        left, *others = eqn.invars
        if left not in stored and _is_computed(left, producers):
            stored[left] = Var(left.aval)
            eqns.append(
                eqn.replace(primitive=barrier_p, invars=[left], outvars=[stored[left]], params={})
            )
        eqns.append(eqn.replace(invars=[stored.get(left, left), *others]))
    return jaxpr.replace(eqns=eqns) if stored else ()


def _is_computed(atom: Atom, producers: dict[Atom, JaxprEqn]) -> bool:
    """Whether XLA would compute a value in the copy of it."""
    eqn = producers.get(atom)
    while eqn is not None and eqn.primitive.name in _RESHAPES:
        eqn = producers.get(eqn.invars[0])
    return eqn is not None and eqn.primitive.name not in _MOVES | _STORED
