"""Dead-code elimination on jaxprs, including the bodies of scan, while and cond.

An equation is dead if none of its results is used and it has no effects. An equation that holds
jaxprs (a loop, a branch, a call) may be dead in part: its primitive's ``dead_code`` rule then
returns the operation of the used results.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import compress
from typing import Any

from ricci_ir._records import TupleRecord
from ricci_ir.traces._primitive import RuleTable, rule_table

from ._effects import no_effects, only_droppable, program_effects
from ._jaxpr import Atom, DropVar, Jaxpr, JaxprEqn, Var
from ._staged_call import donation, program_rules, staged_call

__all__ = ["EquationRule", "LiveCall", "LiveProgram", "dead_code_rules", "fixpoint", "live_call"]
__all__ += ["live_equation", "live_equations", "live_loop", "live_program", "live_whole"]
__all__ += ["may_have_dead_code", "narrowed", "needed_by"]


def fixpoint[S, R](step: Callable[[S], tuple[R, S]], state: S) -> tuple[R, S]:
    """Repeat a step until it returns its state unchanged; return its result and the state.

    A state marks the parts of a carry that, say, have a tangent or are batched; a mark before an
    iteration may add others after it. A step only adds marks (or only removes some), and a carry
    has finitely many parts, so that this ends.
    """
    while True:
        result, following = step(state)
        if following == state:
            return result, state
        state = following


class LiveCall(TupleRecord):
    """An operation after dead-code elimination, some of whose results are unused.

    Attributes:
      params: the new parameters.
      operands: for each operand, whether the operation still takes it.
      results: for each result, whether the operation still returns it; it does if it is used.
    """

    params: dict[str, Any]
    operands: tuple[bool, ...]
    results: tuple[bool, ...]


# ``rule(params, needed, final)`` returns the operation of the needed results, or ``None`` if it is
# unchanged. ``final`` is true right before lowering, when no transformation will follow.
dead_code_rules: RuleTable = rule_table("dead_code", required=False)


class EquationRule(TupleRecord):
    """A rule that takes the whole equation.

    Attributes:
      rule: ``rule(needed, eqn)`` returns for each operand whether it is still read, and the
        equation of the needed results, or ``None`` if it is dead.
    """

    rule: Callable[[list[bool], JaxprEqn], tuple[Sequence[bool], JaxprEqn | None]]


class LiveProgram(TupleRecord):
    """A jaxpr without dead code.

    Attributes:
      jaxpr: takes all arguments, and returns the needed results.
      arguments: for each argument, whether it is used.
    """

    jaxpr: Jaxpr
    arguments: tuple[bool, ...]


def live_program(
    jaxpr: Jaxpr, needed: Sequence[bool] | None = None, final: bool = False
) -> LiveProgram:
    """Eliminate the dead code of a jaxpr, given the needed results; cached in the jaxpr.

    It is the jaxpr itself if it has no dead code, so that its derived forms are reused.

    Args:
      jaxpr: the jaxpr. Equations with effects stay.
      needed: for each result, whether it is needed; by default all are.
      final: whether the jaxpr is about to be lowered, so that no transformation will follow. Then
        functions with derivative rules are replaced by their jaxprs where they are dead in part.
    """
    needed = (True,) * len(jaxpr.outvars) if needed is None else tuple(needed)
    # The jaxpr's own cache holds None instead of the jaxpr, which would be a reference cycle.
    smaller, arguments = jaxpr.derived(
        ("live", needed, final), lambda: _live_program(jaxpr, needed, final)
    )
    return LiveProgram(smaller or jaxpr, arguments)


def _live_program(
    jaxpr: Jaxpr, needed: tuple[bool, ...], final: bool
) -> tuple[Jaxpr | None, tuple[bool, ...]]:
    outvars = list(compress(jaxpr.outvars, needed))
    read = set(outvars)
    eqns = _live(jaxpr.eqns, read, (), True, final)
    arguments = tuple([var in read for var in jaxpr.invars])
    if all(needed) and eqns == jaxpr.eqns:  # the same objects
        return None, arguments
    # Unused constants go, too: each may be a large array, which would stay alive with the jaxpr.
    # Arguments stay, since callers pass them by position.
    consts = [pair for pair in zip(jaxpr.constvars, jaxpr.consts, strict=True) if pair[0] in read]
    smaller = jaxpr.replace(
        constvars=[var for var, _ in consts],
        consts=[value for _, value in consts],
        outvars=outvars,
        eqns=eqns,
        effects=(
            program_effects([e.effects for e in eqns], jaxpr.all_invars) if eqns else no_effects
        ),
    )
    return _inlined_like(jaxpr, smaller), arguments


def may_have_dead_code(jaxpr: Jaxpr) -> bool:
    """Whether a traced jaxpr may have dead code: a fast test without false negatives.

    The last result of any dead chain of equations is not read; tracing has made it a ``DropVar``.
    """
    for eqn in jaxpr.eqns:
        if eqn.primitive.multiple_results or type(eqn.outvars[0]) is DropVar:
            return True
    return False


def _inlined_like(jaxpr: Jaxpr, smaller: Jaxpr) -> Jaxpr:
    """Mark the smaller jaxpr to be inlined by lowering if the whole one is; returns it."""
    if jaxpr in staged_call.inlined:
        staged_call.inlined.add(smaller)
    return smaller


def narrowed(
    jaxpr: Jaxpr, needed: Sequence[bool], arguments: Sequence[bool], final: bool = False
) -> Jaxpr:
    """The live jaxpr of the needed results, with only some of the arguments; cached in it."""
    live = live_program(jaxpr, needed, final).jaxpr
    if all(arguments):
        return live
    arguments = tuple(arguments)
    return live.derived(
        ("narrowed", arguments),
        lambda: _inlined_like(live, live.replace(invars=list(compress(live.invars, arguments)))),
    )


def needed_by(jaxpr: Jaxpr, needed: Sequence[bool], final: bool = False) -> tuple[bool, ...]:
    """For each argument of a jaxpr, whether the needed results, or effects, depend on it."""
    return live_program(jaxpr, needed, final).arguments


def live_equations(
    eqns: Sequence[JaxprEqn],
    out_vars: Sequence[Atom],
    known_vars: Collection[Var] = (),
    effects: bool = True,
) -> list[JaxprEqn]:
    """The equations that some variables depend on, and those with effects, in order.

    Args:
      eqns: all equations.
      out_vars: the variables.
      known_vars: variables whose values are known, so that their equations are dead.
      effects: whether equations stay that have effects but whose results are not needed.
    """
    return _live(eqns, set(out_vars), known_vars, effects, final=False)


def _live(
    eqns: Sequence[JaxprEqn],
    needed: set[Atom],
    known_vars: Collection[Var],
    effects: bool,
    final: bool,
) -> list[JaxprEqn]:
    """Like ``live_equations``; adds the operands of live equations to ``needed``."""
    # Only right before lowering may a call with a derivative rule be opened: earlier, its rule must
    # still be there for ``grad``.
    holding = dead_code_rules.keys() | program_rules.keys() if final else dead_code_rules
    live: list[JaxprEqn] = []
    # Backwards: when an equation is reached, all that read its results have been seen.
    for eqn in reversed(eqns):
        for var in eqn.outvars:
            if var in needed and var not in known_vars:
                break
        else:
            if not (effects and eqn.effects) or only_droppable(eqn.effects):
                continue
        if eqn.primitive in holding:
            flags = tuple([v in needed and v not in known_vars for v in eqn.outvars])
            smaller = live_equation(eqn, flags, final)
            if smaller is None:
                continue
            eqn = smaller
        live.append(eqn)
        # The equation is narrowed before its operands count as read, so an operand that only its
        # dead part reads is dead as well.
        needed.update(eqn.invars)
    live.reverse()
    return live


def live_equation(eqn: JaxprEqn, needed: tuple[bool, ...], final: bool) -> JaxprEqn | None:
    """Eliminate the dead code inside of an equation; ``None`` if the equation is dead."""
    primitive, params = eqn.primitive, eqn.params
    rule, program = dead_code_rules.get(primitive), program_rules.get(primitive)
    if isinstance(rule, EquationRule):
        return rule.rule(list(needed), eqn)[1]
    if final and program is not None and rule not in (live_call, live_whole):
        # No derivative will be taken, so the operation is replaced by its jaxpr.
        jaxpr, name = program(**params)
        call = live_call({"jaxpr": jaxpr, "name": name}, needed, final)
        if call is not None:
            primitive = staged_call.call
            staged_call.inlined.add(call.params["jaxpr"])
    else:
        call = None if rule is None else rule(params, needed, final)
    if call is None:
        return eqn
    outvars = [
        var if used else DropVar(var.aval)
        for var, used, stays in zip(eqn.outvars, needed, call.results, strict=True)
        if stays
    ]
    effects = no_effects if primitive.effects is None else primitive.effects(call.params)
    invars = list(compress(eqn.invars, call.operands))
    live = JaxprEqn(invars, outvars, primitive, call.params, effects, eqn.raw_source)
    return live.under(eqn.settings)


def live_call(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> LiveCall | None:
    """The ``dead_code`` rule of an operation that applies its ``jaxpr`` to its operands."""
    jaxpr = params["jaxpr"]
    arguments = needed_by(jaxpr, needed, final)
    smaller = narrowed(jaxpr, needed, arguments, final)
    if smaller is jaxpr:
        return None
    live = {**params, "jaxpr": smaller}
    donated = live.pop("donated_invars", ())
    live.update(donation(compress(donated, arguments)))
    return LiveCall(live, arguments, needed)


def live_whole(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> None:
    """The ``dead_code`` rule of an operation with a rule for its partitioning over devices.

    It stays as it is: its jaxpr in its place would be partitioned by the compiler.
    """


def live_loop(jaxpr: Jaxpr, carry: slice, needed: Sequence[bool], final: bool) -> tuple[bool, ...]:
    """Flag the live results of a loop's body: those used after the loop, and the carry they need.

    The flags grow until they are a fixpoint: a live result makes the parts of the carry live that
    it reads, and their next values. So a part of the carry that only feeds itself is dead.

    Args:
      jaxpr: the body; its first results are the next carry.
      carry: the slice of the carry among its arguments.
      needed: for each result, whether it is used after the loop.
    """

    def step(needed: tuple[bool, ...]) -> tuple[None, tuple[bool, ...]]:
        read = needed_by(jaxpr, needed, final)[carry]
        grown = (a or b for a, b in zip(needed, read, strict=False))
        return None, (*grown, *needed[len(read) :])

    return fixpoint(step, tuple(needed))[1]
