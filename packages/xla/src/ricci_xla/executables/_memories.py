"""Which results of a program are in the host's memory.

Types do not say it: it follows from the arguments' memories and from the operations that move
values between memories. Only results matter, since XLA must be told where they go; inside a
program, those operations tell it themselves.
"""

from collections.abc import Callable, Sequence

from ricci_ir import (
    Atom,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxprs_in_params,
    program_rules,
    rule_table,
)

__all__ = [
    "host_results",
]

# For primitives that move values between memories: ``rule(on_host, **params)`` says which of its
# results are on the host, given which of its operands are.
memory_rules = rule_table("memory", required=False)


class HostResults:
    """How a result is moved to the host's memory; ``ricci_parallel`` says it.

    ``move(x, result)`` is the equation that does it.
    """

    __slots__ = ("move",)

    move: Callable[[Var, Var], JaxprEqn] | None

    def __init__(self) -> None:
        self.move = None

    def moved(self, jaxpr: Jaxpr, wanted: Sequence[bool]) -> Jaxpr:
        """A program that moves the results that are wanted on the host there."""
        move = self.move
        if move is None or not any(wanted):
            return jaxpr
        eqns, outvars = list(jaxpr.eqns), list(jaxpr.outvars)
        for i, flag in enumerate(wanted):
            atom = outvars[i]
            if flag and isinstance(atom, Var):
                outvars[i] = result = Var(atom.aval)
                eqns.append(move(atom, result))
        return jaxpr.replace(eqns=eqns, outvars=outvars)


host_results: HostResults = HostResults()


def results_on_host(jaxpr: Jaxpr, on_host: Sequence[bool]) -> tuple[bool, ...]:
    """For each result of a program, whether it is in the host's memory.

    Args:
      jaxpr: the program.
      on_host: for each argument, whether it is; empty if none is.
    """
    given = tuple(on_host) or (False,) * len(jaxpr.invars)
    if not any(given) and not _moves(jaxpr):
        return (False,) * len(jaxpr.outvars)
    return jaxpr.derived(("results on the host", given), lambda: _find(jaxpr, given))


def _moves(jaxpr: Jaxpr) -> bool:
    """Whether any operation of a program moves a value between memories."""
    return jaxpr.derived("moves between memories", lambda: _find_moves(jaxpr))


def _find_moves(jaxpr: Jaxpr) -> bool:
    for eqn in jaxpr.eqns:
        if eqn.primitive in memory_rules:
            return True
        if eqn.params and any(map(_moves, jaxprs_in_params(eqn.params))):
            return True
    return False


def _find(jaxpr: Jaxpr, given: tuple[bool, ...]) -> tuple[bool, ...]:
    hosted = {id(var) for var, flag in zip(jaxpr.invars, given, strict=True) if flag}
    for eqn in jaxpr.eqns:
        operands = tuple(id(a) in hosted for a in eqn.invars)
        program = program_rules.get(eqn.primitive)
        if eqn.primitive in memory_rules:
            results = memory_rules[eqn.primitive](operands, **eqn.params)
        elif program is not None:
            results = results_on_host(program(**eqn.params)[0], operands)
        elif next(jaxprs_in_params(eqn.params), None) is not None:
            continue
        else:  # computed where all the arrays among the operands are
            arrays = [h for a, h in zip(eqn.invars, operands, strict=True) if h or _is_array(a)]
            results = (bool(arrays) and all(arrays),) * len(eqn.outvars)
        hosted.update(id(v) for v, flag in zip(eqn.outvars, results, strict=True) if flag)
    return tuple(id(a) in hosted for a in jaxpr.outvars)


def _is_array(atom: Atom) -> bool:
    return type(atom) is not Literal and getattr(atom.aval, "ndim", 0) > 0
