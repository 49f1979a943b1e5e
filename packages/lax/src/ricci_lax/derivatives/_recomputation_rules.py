"""Applying the recomputation rules of operations in a jaxpr that a checkpoint differentiates."""

from typing import Any

import ricci_ir as ir
from ricci_lax.checkpoint_policies import Policy
from ricci_lax.rules._saving import recomputation_rules


def with_recomputations(jaxpr: ir.Jaxpr, policy: Policy | None) -> ir.Jaxpr:
    """Apply the recomputation rules of a jaxpr's operations, and of those inside of these.

    Args:
      jaxpr: the jaxpr.
      policy: the policy of the checkpoint.

    Returns:
      A jaxpr of the same results, cached in the jaxpr; the jaxpr itself if there are no rules.
    """
    # Users' operations alone have such rules.
    if not ir.hi_values.in_use or not _has_rules(jaxpr):
        return jaxpr
    return jaxpr.derived(("recomputations", policy), lambda: _applied(jaxpr, policy))


def _has_rules(jaxpr: ir.Jaxpr) -> bool:
    return jaxpr.derived(
        "has recomputations",
        lambda: any(
            eqn.primitive in recomputation_rules
            or any(map(_has_rules, ir.jaxprs_in_params(eqn.params)))
            for eqn in jaxpr.eqns
        ),
    )


def _applied(jaxpr: ir.Jaxpr, policy: Policy | None) -> ir.Jaxpr:
    run = lambda *args: _run(jaxpr, policy, args)
    return ir.trace_to_jaxpr(run, jaxpr.in_avals, jaxpr.debug_info)


def _run(jaxpr: ir.Jaxpr, policy: Policy | None, args: tuple[ir.PyTree, ...]) -> list[ir.PyTree]:
    env: dict[Any, Any] = dict(zip(jaxpr.all_invars, (*jaxpr.consts, *args), strict=True))
    read = lambda atom: atom.operand() if type(atom) is ir.Literal else env[atom]
    for eqn in jaxpr.eqns:
        results = None
        if eqn.primitive in recomputation_rules:
            rule = recomputation_rules[eqn.primitive]
            results = rule(policy, *map(read, eqn.invars), **eqn.params)
        if results is None:
            params = {name: _in_value(value, policy) for name, value in eqn.params.items()}
            ir.run_equations([eqn.replace(params=params)], env)
        else:
            env.update(zip(eqn.outvars, results, strict=True))
    return list(map(read, jaxpr.outvars))


def _in_value(value: object, policy: Policy | None) -> object:
    if isinstance(value, ir.Jaxpr):
        return with_recomputations(value, policy)
    if type(value) is tuple:
        return tuple(_in_value(item, policy) for item in value)
    return value
