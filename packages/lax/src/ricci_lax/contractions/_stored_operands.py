"""Operands that XLA's CPU backend transposes for a product, each stored before.

The gradient of a layer's weights is the product of the layer's inputs, transposed, and a cotangent.
XLA copies the left operand so that its contracted dimension is last, and fuses the copy with what
computes the operand. The fused loop reads each array that it needs by columns, one element of a
cache line at a time. A barrier has the operand stored in its own order, often for another product
as well; the copy is then a transposition by blocks.
"""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
from ricci_ir import Atom, Jaxpr, JaxprEqn, Var

from ._row_contractions import is_swapped

__all__ = ["store_transposed_operands"]

_LEAST_SIZE = 8192  # elements: of fewer, the copy takes as long as either way
# Operations that only move or repeat elements: XLA folds them into a product, or simplifies them.
_MOVES = frozenset(("broadcast_in_dim", "copy", "iota", "transpose"))
# Operations whose results are stored in any case.
_STORED = frozenset(("conv_general_dilated", "dot_general", "optimization_barrier"))
_RESHAPES = frozenset(("expand_dims", "reshape", "squeeze"))


def store_transposed_operands(jaxpr: Jaxpr) -> Jaxpr:
    """Return a jaxpr with barriers behind the computed operands that XLA transposes."""
    if not any(_copied_operand(eqn) is not None for eqn in jaxpr.eqns):
        return jaxpr
    # A jaxpr that held itself among its derived forms would be a reference cycle.
    return jaxpr.derived("stored operands", lambda: _store(jaxpr)) or jaxpr


def _copied_operand(eqn: JaxprEqn) -> int | None:
    """The position of the operand that XLA copies if an equation is such a product, or None."""
    if eqn.primitive.name != "dot_general":
        return None
    (contracting, right_contracting), (batch, _) = eqn.params["dimension_numbers"]
    left, right = (x.aval for x in eqn.invars)
    assert isinstance(left, ir.ShapedArray)
    assert isinstance(right, ir.ShapedArray)
    if _is_transposed(left, contracting, batch):
        shapes = left.shape, right.shape
        are_static = ir.is_static_shape(right.shape)
        if not (are_static and is_swapped(*shapes, contracting, right_contracting)):
            return 0
        if _is_transposed(right, right_contracting, ()):
            return 1
    return None


def _is_transposed(aval: ir.ShapedArray, contracting: Sequence[int], batch: Sequence[int]) -> bool:
    """Whether XLA would copy a left operand so that its contracted dimensions are last."""
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
        position = _copied_operand(eqn)
        if position is None:
            eqns.append(eqn)
            continue
        copied = eqn.invars[position]
        if copied not in stored and _is_computed(copied, producers):
            stored[copied] = Var(copied.aval)
            barrier = {"invars": [copied], "outvars": [stored[copied]], "params": {}}
            eqns.append(eqn.replace(primitive=barrier_p, **barrier))
        operands = list(eqn.invars)
        operands[position] = stored.get(copied, copied)
        eqns.append(eqn.replace(invars=operands))
    return jaxpr.replace(eqns=eqns) if stored else ()


def _is_computed(atom: Atom, producers: dict[Atom, JaxprEqn]) -> bool:
    """Whether XLA would compute a value in the copy of it."""
    eqn = producers.get(atom)
    while eqn is not None and eqn.primitive.name in _RESHAPES:
        eqn = producers.get(eqn.invars[0])
    return eqn is not None and eqn.primitive.name not in _MOVES | _STORED
