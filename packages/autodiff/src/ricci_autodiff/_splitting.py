"""Partial evaluation: splitting a jaxpr by which of its arguments are known."""

from collections.abc import Iterable, Sequence

from ricci_ir import (
    AbstractValue,
    Array,
    Atom,
    Jaxpr,
    JaxprEqn,
    TupleRecord,
    Var,
    eval_jaxpr,
    exact_rules,
    join_effects,
    trace_to_jaxpr,
    varying_cast,
)

from ._tangent import Zero, instantiate, tangent_aval


class Split(TupleRecord):
    """A jaxpr in two programs.

    Attributes:
      known: takes the known arguments; returns the known results, followed by the residuals.
      unknown: takes the residuals, followed by the unknown arguments; returns the other results.
      known_results: for each result of the jaxpr, whether ``known`` returns it.
    """

    known: Jaxpr
    unknown: Jaxpr
    known_results: tuple[bool, ...]


def dependent(
    jaxpr: Jaxpr, arguments: Sequence[bool], effects: bool = False
) -> tuple[set[Atom], tuple[bool, ...]]:
    """Find what depends on some of a jaxpr's arguments.

    Args:
      jaxpr: the program.
      arguments: for each argument, whether it is one of them.
      effects: whether results of equations with effects count as dependent, too.

    Returns:
      The dependent variables; and for each result, whether it is dependent.
    """
    marked: set[Atom] = {v for v, chosen in zip(jaxpr.invars, arguments, strict=True) if chosen}
    for eqn in jaxpr.eqns:
        if (effects and eqn.effects) or not marked.isdisjoint(eqn.invars):
            marked.update(eqn.outvars)
    return marked, tuple([atom in marked for atom in jaxpr.outvars])


def split_jaxpr(
    jaxpr: Jaxpr, unknown: Sequence[bool], unknown_results: Sequence[bool] | None = None
) -> Split:
    """Split a jaxpr, given which arguments are unknown; the jaxpr keeps the result.

    Args:
      jaxpr: the program.
      unknown: for each argument, whether it is unknown.
      unknown_results: for each result, whether the second program returns it. It must be so for
        all results that depend on unknown arguments, and is so for only those by default.
    """
    unknown = tuple(unknown)
    results = unknown_results if unknown_results is None else tuple(unknown_results)
    return jaxpr.derived(("split", unknown, results), lambda: _split_jaxpr(jaxpr, unknown, results))


def _split_jaxpr(jaxpr: Jaxpr, unknown: tuple[bool, ...], wanted: tuple[bool, ...] | None) -> Split:
    marked, unknown_results = dependent(jaxpr, unknown)
    if wanted is not None:
        unknown_results = wanted
    known_eqns, unknown_eqns = [], []
    for eqn in jaxpr.eqns:
        # Operands count, too: an equation with effects may have no results.
        free = marked.isdisjoint(eqn.invars) and marked.isdisjoint(eqn.outvars)
        (known_eqns if free else unknown_eqns).append(eqn)
    # A residual is a known value that the second program reads or returns. Constants are none:
    # both programs are closed over them.
    known_args = [v for v, u in zip(jaxpr.invars, unknown, strict=True) if not u]
    unknown_args = [v for v, u in zip(jaxpr.invars, unknown, strict=True) if u]
    constants = set(jaxpr.constvars)
    pairs = list(zip(jaxpr.outvars, unknown_results, strict=True))
    read = [atom for eqn in unknown_eqns for atom in eqn.invars]
    needed: dict[Var, None] = {
        atom: None
        for atom in (*read, *(v for v, u in pairs if u))
        if type(atom) is Var and atom not in marked and atom not in constants
    }
    repeats, residuals = repeated(known_eqns, needed)
    unknown_eqns = [*repeats, *unknown_eqns]
    known = program(jaxpr, known_args, known_eqns, [*(v for v, u in pairs if not u), *residuals])
    rest = program(jaxpr, [*residuals, *unknown_args], unknown_eqns, [v for v, u in pairs if u])
    return Split(known, rest, tuple(not u for u in unknown_results))


def repeated(
    eqns: Iterable[JaxprEqn], residuals: Iterable[Var]
) -> tuple[list[JaxprEqn], list[Var]]:
    """What a second program computes again rather than being given it.

    That is what costs next to nothing: arrays that are made of literals, and casts to values that
    vary, which compute nothing. So zeros, say, are not kept from the first program to the second.

    Args:
      eqns: the equations of the first program.
      residuals: those of its variables that the second program reads.

    Returns:
      The equations to repeat, in order, and the variables that are still to be given.
    """
    free = {eqn.outvars[0]: eqn for eqn in eqns if _is_free(eqn)}
    if not free:
        return [], list(residuals)
    again: set[Var] = set()
    given: dict[Var, None] = {}
    for var in residuals:
        atom: Atom = var
        while type(atom) is Var and atom in free:
            again.add(atom)
            operands = free[atom].invars
            if not operands or type(operands[0]) is not Var:
                break
            atom = operands[0]
        else:
            given[atom] = None  # pyright: ignore[reportArgumentType]
    return [eqn for var, eqn in free.items() if var in again], list(given)


def _is_free(eqn: JaxprEqn) -> bool:
    """Whether an equation is a cast, or makes an array of literals."""
    primitive = eqn.primitive
    if primitive is varying_cast.primitive:
        return True
    return (
        primitive in exact_rules
        and not primitive.multiple_results
        and not any(type(atom) is Var for atom in eqn.invars)
    )


def program(
    jaxpr: Jaxpr, invars: Sequence[Var], eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]
) -> Jaxpr:
    """A jaxpr made of some of a jaxpr's equations, closed over the same constants."""
    return jaxpr.replace(
        invars=list(invars),
        eqns=list(eqns),
        outvars=list(outvars),
        effects=join_effects(eqn.effects for eqn in eqns),
    )


def with_zeros(
    jaxpr: Jaxpr, present: Sequence[bool], wanted: Sequence[bool], avals: Iterable[AbstractValue]
) -> Jaxpr:
    """A jaxpr that returns some tangents as arrays although they are zero.

    Args:
      jaxpr: returns the tangents that are not zero.
      present: for each tangent, whether ``jaxpr`` returns it.
      wanted: for each tangent, whether the new jaxpr returns it.
      avals: the types of the primals.
    """
    present, wanted = tuple(present), tuple(wanted)
    if present == wanted:
        return jaxpr
    tangent_avals = tuple(map(tangent_aval, avals))

    def fun(*args: Array) -> list[Array]:
        given = iter(eval_jaxpr(jaxpr, jaxpr.consts, *args))
        tangents = [
            next(given) if p else Zero(a) for p, a in zip(present, tangent_avals, strict=True)
        ]
        return [instantiate(t) for t, w in zip(tangents, wanted, strict=True) if w]

    return jaxpr.derived(
        ("with zeros", present, wanted, tangent_avals),
        lambda: trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info),
    )
