"""Reads of outputs and scratch buffers that nothing was written to, found in a kernel's jaxpr.

The equations of the first step are followed, whose position is 0, with the branches that it
selects. If the first one that takes a reference reads it, that is memory that nothing was written
to. A branch by data or a loop that takes the reference may write it, and a value that is selected
later may be dropped: neither is reported.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_kernels.blocks._programs import program_id_p
from ricci_kernels.calls._carried_scratch import clamped, evaluate_scalar, known_value, passed
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
        if getattr(ref.aval, "memory_space", None) is TPUMemorySpace.SEMAPHORE:
            continue  # it begins at 0
        use = _first_use(jaxpr, ref, {})
        if use is not None and use.is_read:
            yield name, use.eqn


class _Use(ir.TupleRecord):
    """The first equation of the first step that takes a reference.

    Attributes:
      eqn: the equation.
      is_read: whether it surely reads it, and what it reads is used.
    """

    eqn: ir.JaxprEqn
    is_read: bool


def _first_use(jaxpr: ir.Jaxpr, ref: ir.Var, scalars: Mapping[ir.Var, Any]) -> _Use | None:
    """The first use of a reference in the first step, for the scalars that are known there."""
    values = dict(scalars)
    for place, eqn in enumerate(jaxpr.eqns):
        if eqn.primitive is program_id_p:
            values[eqn.outvars[0]] = np.int32(0)
            continue
        if not any(v is ref for v in eqn.invars):
            evaluate_scalar(eqn, [known_value(x, values) for x in eqn.invars], values)
            continue
        index = known_value(eqn.invars[0], values) if eqn.primitive is lax.cond_p else None
        if index is None:
            is_read = eqn.primitive is addupdate_p
            is_read |= eqn.primitive is get_p and _is_kept(jaxpr, place)
            return _Use(eqn, is_read)
        branches: Any = eqn.params["branches"]
        branch = branches[clamped(index, len(branches))]
        arguments = passed(branch, eqn.invars[1:], values)
        for inner in passed(branch, eqn.invars[1:], {ref: None}):
            use = _first_use(branch, inner, arguments)
            if use is not None:
                return use
    return None


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
    # The results of a branch may be unused after it.
    return used and not any(id(v) in values for v in jaxpr.outvars)


def _selects(eqn: ir.JaxprEqn) -> bool:
    return any(
        inner.primitive is lax.select_n_p or _selects(inner)
        for jaxpr in ir.jaxprs_in_params(eqn.params)
        for inner in jaxpr.eqns
    )
