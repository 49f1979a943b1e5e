"""Inference of memory kinds: the values of a jaxpr that are in the host's memory.

Types do not have them: they follow from the memories of the arguments and from the operations that
move values between memories.
"""

from collections.abc import Callable, Sequence

from ricci_ir._hook import Hook
from ricci_ir.traces._primitive import RuleTable, rule_table

from ._dead_code import fixpoint
from ._jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from ._staged_call import program_rules

__all__ = ["carry_on_host", "memory_move", "memory_rules", "moves_to_host", "results_on_host"]
__all__ += ["values_on_host"]

# For primitives that move values between memories, and for control flow: ``rule(on_host,
# **params)`` returns a flag for each result, given one for each operand.
memory_rules: RuleTable = rule_table("memory", required=False)

# ``(x, result, memory)``: the equation that moves a value to ``"device"`` or the host's memory.
memory_move: Hook[Callable[[Var, Var, str], JaxprEqn]] = Hook(
    "moves between memories", provided_by="ricci_parallel"
)


def results_on_host(jaxpr: Jaxpr, on_host: Sequence[bool]) -> tuple[bool, ...]:
    """Flag the results of a jaxpr that are in the host's memory.

    Args:
      jaxpr: the jaxpr.
      on_host: for each argument, whether it is; empty if none is.
    """
    flags = tuple(on_host) or (False,) * len(jaxpr.invars)
    if not any(flags) and not moves_to_host(jaxpr):
        return (False,) * len(jaxpr.outvars)
    return jaxpr.derived(("results on the host", flags), lambda: _propagate(jaxpr, flags))


def values_on_host(jaxpr: Jaxpr) -> set[Var]:
    """Return the results of a jaxpr's equations in the host's memory, its arguments being not."""
    if not moves_to_host(jaxpr):
        return set()
    hosted = _hosted(jaxpr, (False,) * len(jaxpr.invars))
    return {var for eqn in jaxpr.eqns for var in eqn.outvars if id(var) in hosted}


def carry_on_host(
    body: Jaxpr, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool] = ()
) -> tuple[bool, ...]:
    """Flag the results of a loop's body in the host's memory, at a fixpoint of the carry."""

    def step(carry: tuple[bool, ...]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        results = results_on_host(body, (*consts, *carry, *xs))
        joined = tuple(a or b for a, b in zip(carry, results, strict=False))
        return (*joined, *results[len(carry) :]), joined

    return fixpoint(step, tuple(carry))[0]


def moves_to_host(jaxpr: Jaxpr) -> bool:
    """Whether any operation of a jaxpr moves a value to the host's memory."""
    return jaxpr.derived("moves to the host", lambda: _has_move(jaxpr))


def _has_move(jaxpr: Jaxpr) -> bool:
    for eqn in jaxpr.eqns:
        if eqn.params and any(map(moves_to_host, jaxprs_in_params(eqn.params))):
            return True
        rule = memory_rules.get(eqn.primitive)
        if rule is not None and any(rule((False,) * len(eqn.invars), **eqn.params)):
            return True
    return False


def _propagate(jaxpr: Jaxpr, flags: tuple[bool, ...]) -> tuple[bool, ...]:
    hosted = _hosted(jaxpr, flags)
    return tuple(id(a) in hosted for a in jaxpr.outvars)


def _hosted(jaxpr: Jaxpr, flags: tuple[bool, ...]) -> set[int]:
    """The identities of the variables on the host."""
    hosted = {id(var) for var, flag in zip(jaxpr.invars, flags, strict=True) if flag}
    for eqn in jaxpr.eqns:
        operands = tuple(id(a) in hosted for a in eqn.invars)
        rule, program = memory_rules.get(eqn.primitive), program_rules.get(eqn.primitive)
        inner = list(jaxprs_in_params(eqn.params)) if eqn.params else []
        if rule is not None:
            results = rule(operands, **eqn.params)
        elif program is not None:
            results = results_on_host(program(**eqn.params)[0], operands)
        elif len(inner) == 1 and _corresponds(inner[0], len(operands), len(eqn.outvars)):
            results = results_on_host(inner[0], operands)
        else:  # on the host if all arrays among the operands are
            arrays = [h for a, h in zip(eqn.invars, operands, strict=True) if h or _is_array(a)]
            results = (bool(arrays) and all(arrays),) * len(eqn.outvars)
        hosted.update(id(v) for v, flag in zip(eqn.outvars, results, strict=True) if flag)
    return hosted


def _corresponds(jaxpr: Jaxpr, operands: int, results: int) -> bool:
    """Whether a jaxpr has as many arguments and results as its equation."""
    return len(jaxpr.invars) == operands and len(jaxpr.outvars) == results


def _is_array(atom: Atom) -> bool:
    return type(atom) is not Literal and getattr(atom.aval, "ndim", 0) > 0
