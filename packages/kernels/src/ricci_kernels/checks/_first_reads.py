"""Reads of outputs and scratch buffers that nothing was written to, found in a kernel's jaxpr.

If the first equation that takes a reference reads it, the first step reads memory that nothing was
written to. A branch or a loop that takes the reference may write it, and a value that is selected
later may be dropped: neither is reported.
"""

from collections.abc import Iterator, Mapping

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_lax.refs import addupdate_p, get_p

__all__: list[str] = []


def first_reads(jaxpr: ir.Jaxpr, names: Mapping[int, str]) -> Iterator[tuple[str, ir.JaxprEqn]]:
    """Yield the references that a kernel reads ahead of a write, and the equations that read them.

    Args:
      jaxpr: the kernel's.
      names: by number, the names of the references that begin without values.
    """
    for i, name in names.items():
        ref = jaxpr.invars[i]
        aval = ref.aval
        if getattr(aval, "memory_space", None) is TPUMemorySpace.SEMAPHORE:
            continue  # it begins at 0
        places = (n for n, eqn in enumerate(jaxpr.eqns) if any(v is ref for v in eqn.invars))
        first = next(places, None)
        if first is None:
            continue
        eqn = jaxpr.eqns[first]
        if eqn.primitive is addupdate_p or eqn.primitive is get_p and _is_kept(jaxpr, first):
            yield name, eqn


def _is_kept(jaxpr: ir.Jaxpr, place: int) -> bool:
    """Whether the value of an equation is used, and nothing selects among it and other values."""
    values = {id(v) for v in jaxpr.eqns[place].outvars}
    used = False
    for eqn in jaxpr.eqns[place + 1 :]:
        if any(id(v) in values for v in eqn.invars):
            if eqn.primitive in (lax.select_n_p, lax.cond_p, lax.while_p) or _selects(eqn):
                return False
            used = True
            values |= {id(v) for v in eqn.outvars}
    return used


def _selects(eqn: ir.JaxprEqn) -> bool:
    return any(
        inner.primitive is lax.select_n_p or _selects(inner)
        for jaxpr in ir.jaxprs_in_params(eqn.params)
        for inner in jaxpr.eqns
    )
