"""Replacing the calls of ``HiPrim`` in a jaxpr by their expansions."""

from typing import Any

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
    run = lambda *args: _run(live, args)
    # An expansion may apply such operations itself, which are recorded and expanded in turn.
    return without_hi_values(ir.trace_to_jaxpr(run, live.in_avals, live.debug_info))


def _has_calls(jaxpr: ir.Jaxpr) -> bool:
    return jaxpr.derived("has hi values", lambda: any(map(_calls, jaxpr.eqns)))


def _calls(eqn: ir.JaxprEqn) -> bool:
    return eqn.primitive in expansion_rules or any(map(_has_calls, ir.jaxprs_in_params(eqn.params)))


def _in_value(value: ir.PyTree) -> ir.PyTree:
    if isinstance(value, ir.Jaxpr):
        return without_hi_values(value)
    return type(value)(map(_in_value, value)) if type(value) in (tuple, list) else value


def _run(jaxpr: ir.Jaxpr, args: tuple[ir.PyTree, ...]) -> list[ir.PyTree]:
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    read = lambda atom: atom.operand() if type(atom) is ir.Literal else env[atom]
    for eqn in jaxpr.eqns:
        if not _calls(eqn):
            ir.run_equations([eqn], env)
            continue
        operands = list(map(read, eqn.invars))
        # Operations that an expansion has recorded are expanded by the next pass.
        is_recorded = any(isinstance(x, ir.Tracer) and x.aval.is_high for x in operands)
        if is_recorded:
            results = eqn.primitive.bind(*operands, **eqn.params)
        elif eqn.primitive in expansion_rules:
            results = expansion_rules[eqn.primitive](*operands, **eqn.params)
        else:
            params = {name: _in_value(value) for name, value in eqn.params.items()}
            results = eqn.primitive.bind(*operands, **params)
            results = results if eqn.primitive.multiple_results else [results]
        env.update(zip(eqn.outvars, results, strict=True))
    return list(map(read, jaxpr.outvars))


ir.lower_hi_values.provide(without_hi_values)
