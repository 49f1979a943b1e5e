"""Small constants of a program, written into its text.

XLA computes ahead what depends on constants alone, and a call passes fewer arguments. Large ones
stay arguments: as text they would make compiling slow, and each program would hold a copy.
"""

from typing import Any

import numpy as np

from ricci_ir import Atom, Jaxpr, Literal, Var, is_array_dtype
from ricci_xla.arrays._array import ArrayImpl

# In bytes: a text of some thousand characters.
LIMIT = 4096


def embed_small(jaxpr: Jaxpr, consts: tuple) -> Jaxpr:
    """A program whose small constants are literals of its equations.

    Args:
      jaxpr: the program.
      consts: arrays for the first of its arguments, or tracers.

    Returns:
      The program with the same arguments, of which it does not use those that are embedded now.
    """
    embedded = {
        id(var): Literal(np.asarray(const), var.aval)
        for var, const in zip(jaxpr.invars, consts, strict=False)
        if _is_small(const)
    }
    if not embedded:
        return jaxpr

    def read(atom: Atom) -> Atom:
        return embedded.get(id(atom), atom) if type(atom) is Var else atom

    return jaxpr.replace(
        eqns=[eqn.reading([read(atom) for atom in eqn.invars]) for eqn in jaxpr.eqns],
        outvars=[read(atom) for atom in jaxpr.outvars],
    )


def _is_small(const: Any) -> bool:
    """Whether an array is small, and bound to no device."""
    if not is_array_dtype(const.dtype) or const.dtype.itemsize * const.size > LIMIT:
        return False
    if isinstance(const, ArrayImpl):
        return not const.committed and not const.is_deleted()
    return isinstance(const, np.ndarray | np.generic)
