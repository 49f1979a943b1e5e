"""Embedding of constants whose text is short: arrays that a program closes over, written into it.

XLA then folds what depends on constants alone, and a call passes fewer arguments. These are small
arrays, and arrays of NumPy of any size whose elements are all the same, of which the program then
holds no copy. Other large constants stay hidden arguments: as text they would make compiling slow,
and each program would hold a copy.
"""

from typing import Any

import numpy as np

from ricci_ir import Atom, Jaxpr, Literal, Var, is_array_dtype
from ricci_stablehlo import is_splat
from ricci_xla.arrays._array_impl import ArrayImpl

# The largest constant that is embedded, in bytes: a few thousand characters of text.
LIMIT = 4096


def embed_short(jaxpr: Jaxpr, consts: tuple[Any, ...]) -> Jaxpr:
    """A program in which constants whose text is short are literals of the equations.

    Args:
      jaxpr: the program.
      consts: the constants, which are the program's first arguments: arrays or tracers.

    Returns:
      The program. It has the same arguments, but no longer uses those that are embedded.
    """
    embedded: dict[int, Literal] = {}
    for var, const in zip(jaxpr.invars, consts, strict=False):
        if _is_small(const):
            embedded[id(var)] = Literal(np.asarray(const), var.aval)
        elif type(const) is np.ndarray and is_array_dtype(const.dtype) and is_splat(const):
            embedded[id(var)] = Literal(const.flat[0], var.aval)
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
