"""Programs with the calls in them written out."""

from typing import Any

from ricci_ir import Jaxpr, Literal, staged_call, trace_to_jaxpr


def inlined(jaxpr: Jaxpr) -> Jaxpr:
    """The program without staged calls: their operations in their place; kept on it."""
    if not any(eqn.primitive is staged_call.call for eqn in jaxpr.eqns):
        return jaxpr
    return jaxpr.derived(
        "inlined",
        lambda: trace_to_jaxpr(lambda *xs: _run(jaxpr, xs), jaxpr.in_avals, jaxpr.debug_info),
    )


def _run(jaxpr: Jaxpr, args: Any) -> list[Any]:
    env = dict(zip(map(id, jaxpr.invars), args, strict=True))
    env.update(zip(map(id, jaxpr.constvars), jaxpr.consts, strict=True))
    read = lambda atom: atom.operand() if type(atom) is Literal else env[id(atom)]
    for eqn in jaxpr.eqns:
        operands = list(map(read, eqn.invars))
        if eqn.primitive is staged_call.call:
            results = _run(eqn.params["jaxpr"], operands)
        else:
            result = eqn.primitive.bind(*operands, **eqn.params)
            results = result if eqn.primitive.multiple_results else [result]
        env.update(zip(map(id, eqn.outvars), results, strict=True))
    return list(map(read, jaxpr.outvars))
