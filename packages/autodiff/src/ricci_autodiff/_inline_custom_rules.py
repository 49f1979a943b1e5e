"""Inline calls of functions with derivative rules in jaxprs that are applied to tangents.

A function with a derivative rule is linear if it is applied to a tangent, and its operations are
its derivative. Its rule may apply the function to tangents once more, also inside of a loop, so
that following the rule there would never end.
"""

from collections.abc import Callable
from typing import Any

import ricci_ir as ir

__all__ = ["ruled_programs"]

# The primitives that call a function with a derivative rule, and a function that returns the jaxpr
# that an equation with these parameters calls.
ruled_programs: dict[ir.Primitive, Callable[[dict[str, Any]], ir.Jaxpr]] = {}


def params_without_rules(params: dict[str, Any]) -> dict[str, Any]:
    """Inline the functions with rules in the jaxprs among an equation's parameters."""
    if not any(map(_has_rules, ir.jaxprs_in_params(params))):
        return params
    return {name: _value_without_rules(value) for name, value in params.items()}


def _value_without_rules(value: Any) -> Any:
    if isinstance(value, ir.Jaxpr):
        return without_rules(value)
    if type(value) in (tuple, list):
        return type(value)(map(_value_without_rules, value))
    return value


def _has_rules(jaxpr: ir.Jaxpr) -> bool:
    return jaxpr.derived("has rules", lambda: any(map(_uses_rules, jaxpr.eqns)))


def _uses_rules(eqn: ir.JaxprEqn) -> bool:
    return eqn.primitive in ruled_programs or any(map(_has_rules, ir.jaxprs_in_params(eqn.params)))


def without_rules(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Inline the functions with rules in a jaxpr; cached on the jaxpr."""
    if not _has_rules(jaxpr):
        return jaxpr
    run = lambda *args: _run(jaxpr, args)
    return jaxpr.derived(
        "without rules", lambda: ir.trace_to_jaxpr(run, jaxpr.in_avals, jaxpr.debug_info)
    )


def _run(jaxpr: ir.Jaxpr, args: tuple[ir.Array, ...]) -> list[Any]:
    env: dict[int, Any] = {id(v): c for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
    env.update((id(v), x) for v, x in zip(jaxpr.invars, args, strict=True))
    read = lambda atom: atom.operand() if isinstance(atom, ir.Literal) else env[id(atom)]
    outer, origin = ir.context.name_stack, ir.context.origin
    try:
        with ir.SettingsSwitch() as switch:
            for eqn in jaxpr.eqns:
                switch.to(eqn.settings)
                code, offset, names = eqn.raw_source
                ir.context.name_stack = outer + names
                ir.context.origin = (code, offset) if code is not None else origin or ir.no_origin
                operands = list(map(read, eqn.invars))
                function = ruled_programs.get(eqn.primitive)
                if function is not None:
                    plain = without_rules(function(eqn.params))
                    results = ir.eval_jaxpr(plain, plain.consts, *operands)
                else:
                    results = eqn.primitive.bind(*operands, **params_without_rules(eqn.params))
                    results = results if eqn.primitive.multiple_results else [results]
                env.update((id(v), r) for v, r in zip(eqn.outvars, results, strict=True))
    finally:
        ir.context.name_stack, ir.context.origin = outer, origin
    return list(map(read, jaxpr.outvars))
