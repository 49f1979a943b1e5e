"""Inlining: programs whose calls are replaced by the operations of the called programs."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import Jaxpr, Literal, SettingsSwitch, staged_call, trace_to_jaxpr


def inlined(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the operations of its staged calls in their place; cached on it."""
    if not any(eqn.primitive is staged_call.call for eqn in jaxpr.eqns):
        return jaxpr
    return jaxpr.derived(
        "inlined",
        lambda: trace_to_jaxpr(lambda *xs: _run(jaxpr, xs), jaxpr.in_avals, jaxpr.debug_info),
    )


def _run(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluate a program in the current trace, and the calls in it likewise."""
    env = dict(zip(map(id, jaxpr.invars), args, strict=True))
    env.update(zip(map(id, jaxpr.constvars), jaxpr.consts, strict=True))
    read = lambda atom: atom.operand() if type(atom) is Literal else env[id(atom)]
    with SettingsSwitch() as switch:
        for eqn in jaxpr.eqns:
            switch.to(eqn.settings)
            operands = list(map(read, eqn.invars))
            if eqn.primitive is staged_call.call:
                results = _run(eqn.params["jaxpr"], operands)
            else:
                result = eqn.primitive.bind(*operands, **eqn.params)
                results = result if eqn.primitive.multiple_results else [result]
            env.update(zip(map(id, eqn.outvars), results, strict=True))
    return list(map(read, jaxpr.outvars))
