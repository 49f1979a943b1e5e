"""Embedding of small constants: arrays that a program closes over, written into its text.

XLA then folds what depends on constants alone, and a call passes fewer arguments. Large constants
stay hidden arguments: as text they would make compiling slow, and each program would hold a copy.
"""

from typing import Any

import numpy as np

from ricci_ir import Atom, Jaxpr, Literal, Var, is_array_dtype
from ricci_xla.arrays._array_impl import ArrayImpl

# The largest constant that is embedded, in bytes: a few thousand characters of text.
LIMIT = 4096


def embed_small(jaxpr: Jaxpr, consts: tuple[Any, ...]) -> Jaxpr:
    """A program in which small constants are literals of the equations.

    Args:
      jaxpr: the program.
      consts: the constants, which are the program's first arguments: arrays or tracers.

    Returns:
      The program. It has the same arguments, but no longer uses those that are embedded.
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
    """Whether a constant is a small array that is not committed to a device."""
    if not is_array_dtype(const.dtype) or const.dtype.itemsize * const.size > LIMIT:
        return False
    if isinstance(const, ArrayImpl):
        return not const.committed and not const.is_deleted()
    return isinstance(const, np.ndarray | np.generic)
