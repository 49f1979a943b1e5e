"""Passes over a jaxpr before it is lowered, each from a jaxpr to one with the same arguments.

They run in the order of ``PASSES``: constants become literals, and moves of results are added,
before dead code elimination, which then drops the constants' arguments.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import is_splat
from ricci_xla.arrays import HOST_MEMORY, ArrayImpl
from ricci_xla.meshes import NamedSharding, explicit_sharding

from ._place import Placement

# The largest constant that becomes a literal, in bytes: a few thousand characters of text.
LITERAL_LIMIT = 4096


def expand_hi_values(jaxpr: ir.Jaxpr, placement: Placement, consts: Sequence[Any]) -> ir.Jaxpr:
    """Expand operations on values that are made of several arrays."""
    return ir.lower_hi_values.call(jaxpr) if ir.hi_values.in_use else jaxpr


def embed_short_constants(jaxpr: ir.Jaxpr, placement: Placement, consts: Sequence[Any]) -> ir.Jaxpr:
    """Write constants whose text is short into the equations, as literals.

    XLA then folds what depends on constants alone, and a call passes fewer arguments. These are
    small arrays, and NumPy's arrays of any size whose elements are all the same, of which the
    executable then holds no copy. Other large constants stay hidden arguments: as text they would
    make compiling slow, and each executable would hold a copy.
    """
    literals: dict[int, ir.Literal] = {}
    for var, const in zip(jaxpr.invars, consts, strict=False):
        if _is_small(const):
            literals[id(var)] = ir.Literal(np.asarray(const, var.aval.dtype), var.aval)
        elif type(const) is np.ndarray and ir.is_array_dtype(const.dtype) and is_splat(const):
            # The literal is a scalar with the type of the whole array; lowering broadcasts it.
            literals[id(var)] = ir.Literal(const.flat[0], var.aval)
    if not literals:
        return jaxpr

    def read(atom: ir.Atom) -> ir.Atom:
        return literals.get(id(atom), atom) if type(atom) is ir.Var else atom

    return jaxpr.replace(
        eqns=[eqn.reading([read(atom) for atom in eqn.invars]) for eqn in jaxpr.eqns],
        outvars=[read(atom) for atom in jaxpr.outvars],
    )


def _is_small(const: Any) -> bool:
    """Whether a constant is a small array that is not committed to a device."""
    if isinstance(const, int | float | complex):  # of a class that derives from Python's
        return True
    if not isinstance(const, ArrayImpl | np.ndarray | np.generic):
        return False
    if not ir.is_array_dtype(const.dtype) or const.dtype.itemsize * const.size > LITERAL_LIMIT:
        return False
    if isinstance(const, ArrayImpl):
        return not const.committed and not const.is_deleted()
    return True


def move_results(jaxpr: ir.Jaxpr, placement: Placement, consts: Sequence[Any]) -> ir.Jaxpr:
    """Move results to the memories that their shardings name."""
    on_host = ir.results_on_host(jaxpr, [argument.on_host for argument in placement.arguments])
    if not any(on_host) and not any(r.on_host for r in placement.results):
        return jaxpr
    eqns, outvars = list(jaxpr.eqns), list(jaxpr.outvars)
    for i, (requested, is_on_host) in enumerate(zip(placement.results, on_host, strict=True)):
        atom = outvars[i]
        if requested.sharding is None or not isinstance(atom, ir.Var):
            continue
        # A move is needed in both directions; between two device memories there is none.
        if requested.on_host or is_on_host:
            outvars[i] = result = ir.Var(atom.aval)
            eqns.append(
                ir.memory_move.call(atom, result, HOST_MEMORY if requested.on_host else "device")
            )
    return jaxpr.replace(eqns=eqns, outvars=outvars)


def make_results_unreduced(
    jaxpr: ir.Jaxpr, placement: Placement, consts: Sequence[Any]
) -> ir.Jaxpr:
    """Reshard results whose shardings are unreduced (partial sums).

    The compiler has no attribute for an unreduced result: it needs an operation that makes one.
    """
    eqns, outvars = list(jaxpr.eqns), list(jaxpr.outvars)
    for i, (atom, result) in enumerate(zip(jaxpr.outvars, placement.results, strict=True)):
        sharding, aval = result.sharding, atom.aval
        if not isinstance(sharding, NamedSharding) or not sharding.spec.unreduced:
            continue
        if not isinstance(aval, ir.ShapedArray):
            continue
        explicit = explicit_sharding(aval.ndim, sharding)
        if explicit is not None and explicit != aval.type_sharding:
            outvars[i] = unreduced = ir.Var(aval.with_sharding(explicit))
            params = {"sharding": explicit, "mesh": explicit.mesh}
            eqns.append(ir.JaxprEqn([atom], [unreduced], ir.primitives["reshard"], params))
    return jaxpr if len(eqns) == len(jaxpr.eqns) else jaxpr.replace(eqns=eqns, outvars=outvars)


def eliminate_dead_code(jaxpr: ir.Jaxpr, placement: Placement, consts: Sequence[Any]) -> ir.Jaxpr:
    """Remove equations, and parts of loops, branches and calls, whose results are unused."""
    return ir.live_program(jaxpr, final=True).jaxpr if ir.may_have_dead_code(jaxpr) else jaxpr


type Pass = Callable[[ir.Jaxpr, Placement, Sequence[Any]], ir.Jaxpr]

PASSES: tuple[Pass, ...] = (
    expand_hi_values,
    embed_short_constants,
    move_results,
    make_results_unreduced,
    eliminate_dead_code,
)


def run_passes(
    jaxpr: ir.Jaxpr, placement: Placement, consts: Sequence[Any], passes: Sequence[Pass] = PASSES
) -> ir.Jaxpr:
    """Return the jaxpr to be lowered.

    Args:
      jaxpr: the traced function; its constants are its first arguments.
      placement: where it runs.
      consts: the values of the constants.
      passes: the passes, in order.
    """
    for transform in passes:
        jaxpr = transform(jaxpr, placement, consts)
    return jaxpr
