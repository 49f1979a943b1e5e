"""Inlining: replace staged calls in a jaxpr by the equations of the called jaxprs."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import ricci_ir as ir


def inlined(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Inline the staged calls of a jaxpr; cached on it.

    The equations keep their source locations in the user's code.
    """
    if not any(map(_is_call, jaxpr.eqns)):
        return jaxpr
    return jaxpr.derived(
        "inlined",
        lambda: ir.trace_to_jaxpr(lambda *xs: _run(jaxpr, xs), jaxpr.in_avals, jaxpr.debug_info),
    )


def _is_call(eqn: ir.JaxprEqn) -> bool:
    return eqn.primitive is ir.staged_call.call


def _run(jaxpr: ir.Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr in the current trace, inlining its staged calls."""
    variables, values = [*jaxpr.constvars, *jaxpr.invars], [*jaxpr.consts, *args]
    env: dict[Any, Any] = dict(zip(variables, values, strict=True))
    read = lambda atom: atom.operand() if type(atom) is ir.Literal else env[atom]
    for are_calls, eqns in groupby(jaxpr.eqns, _is_call):
        if not are_calls:
            ir.run_equations(eqns, env)
            continue
        for eqn in eqns:
            results = _run_call(eqn, list(map(read, eqn.invars)))
            env.update(zip(eqn.outvars, results, strict=True))
    return list(map(read, jaxpr.outvars))


def _run_call(eqn: ir.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """Evaluate the jaxpr of a call, under the settings and in the name scope of the call."""
    outer = ir.context.name_stack
    try:
        ir.context.name_stack = outer + eqn.raw_source[2]
        with ir.SettingsSwitch() as switch:
            switch.to(eqn.settings)
            return _run(eqn.params["jaxpr"], operands)
    finally:
        ir.context.name_stack = outer
