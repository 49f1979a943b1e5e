"""Replacing the calls of ``HiPrim`` in a jaxpr by their expansions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._primitive import expansion_rules

__all__: list[str] = []


def without_hi_values(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Expand the calls of ``HiPrim`` in a jaxpr and in those inside; cached on the jaxpr.

    Its arguments and results are arrays. What it computes with them may be values of several
    arrays: these are Python objects that hold the arrays while the expansions are traced.
    """
    if not _has_calls(jaxpr):
        return jaxpr
    return jaxpr.derived("without hi values", lambda: _expanded(jaxpr))


def _expanded(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    # Rules ``dce`` of operations apply to calls, and not to what these expand to.
    live = ir.live_program(jaxpr).jaxpr
    run = lambda *args: ir.interpret(live, args, _expand)
    expanded = ir.trace_to_jaxpr(run, live.in_avals, live.debug_info)
    # An expansion may apply such operations itself, which are recorded and expanded in turn.
    return without_hi_values(_with_literals(expanded))


def _with_literals(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Write the arrays that expansions close over into the equations, as literals.

    The executable's arguments are settled when operations are expanded, so that these arrays cannot
    become hidden arguments, as other constants do.
    """
    literals: dict[ir.Atom, ir.Atom] = {
        var: ir.Literal(np.asarray(const, var.aval.dtype), var.aval)  # pyright: ignore
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True)
    }
    if not literals:
        return jaxpr
    read = lambda atom: literals.get(atom, atom) if type(atom) is ir.Var else atom
    eqns = [eqn.reading(list(map(read, eqn.invars))) for eqn in jaxpr.eqns]
    outvars = list(map(read, jaxpr.outvars))
    return jaxpr.replace(constvars=[], consts=[], eqns=eqns, outvars=outvars)


def _has_calls(jaxpr: ir.Jaxpr) -> bool:
    return jaxpr.derived("has hi values", lambda: any(map(_calls, jaxpr.eqns)))


def _calls(eqn: ir.JaxprEqn) -> bool:
    return eqn.primitive in expansion_rules or any(map(_has_calls, ir.jaxprs_in_params(eqn.params)))


def _in_value(value: ir.PyTree) -> ir.PyTree:
    if isinstance(value, ir.Jaxpr):
        return without_hi_values(value)
    return type(value)(map(_in_value, value)) if type(value) in (tuple, list) else value


def _expand(eqn: ir.JaxprEqn, operands: list[Any]) -> Sequence[Any] | None:
    # Operations that an expansion has recorded are expanded by the next pass.
    if not _calls(eqn) or any(isinstance(x, ir.Tracer) and x.aval.is_high for x in operands):
        return None
    if eqn.primitive in expansion_rules:
        return expansion_rules[eqn.primitive](*operands, **eqn.params)
    params = {name: _in_value(value) for name, value in eqn.params.items()}
    results = eqn.primitive.bind(*operands, **params)
    return results if eqn.primitive.multiple_results else [results]


ir.lower_hi_values.provide(without_hi_values)
