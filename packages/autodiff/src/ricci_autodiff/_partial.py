"""Splitting a jaxpr by which of its arguments are known, and other surgery on programs."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ricci_ir import Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr, join_effects, trace_to_jaxpr

from ._tangent import Zero, instantiate, tangent_aval


class Split(NamedTuple):
    """A jaxpr in two programs.

    Attributes:
      known: from the known arguments to the results that follow from them, and then to what
        ``unknown`` needs besides.
      unknown: from those values, and then the unknown arguments, to the other results.
      known_results: for each result of the jaxpr, whether ``known`` gives it.
    """

    known: Jaxpr
    unknown: Jaxpr
    known_results: tuple[bool, ...]


def dependent(
    jaxpr: Jaxpr, arguments: Sequence[bool], effects: bool = False
) -> tuple[set[int], tuple[bool, ...]]:
    """What depends on the marked arguments: variables, by ``id``, and for each result whether.

    Args:
      effects: whether to mark what comes from equations with effects, too.
    """
    marked = {id(v) for v, chosen in zip(jaxpr.invars, arguments, strict=True) if chosen}
    for eqn in jaxpr.eqns:
        if (effects and eqn.effects) or any(id(atom) in marked for atom in eqn.invars):
            marked.update(id(var) for var in eqn.outvars)
    return marked, tuple(id(atom) in marked for atom in jaxpr.outvars)


def split_jaxpr(
    jaxpr: Jaxpr, unknown: Sequence[bool], unknown_results: Sequence[bool] | None = None
) -> Split:
    """Split a jaxpr, given which arguments are unknown; kept on it.

    Args:
      unknown: for each argument, whether it is.
      unknown_results: which results to leave to the second program; by default those that depend
        on unknown arguments, which must be among them.
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
        # By what it reads: an equation may be there for its effect, and have no results.
        waits = any(id(v) in marked for v in (*eqn.invars, *eqn.outvars))
        (unknown_eqns if waits else known_eqns).append(eqn)
    known_args = [v for v, u in zip(jaxpr.invars, unknown, strict=True) if not u]
    unknown_args = [v for v, u in zip(jaxpr.invars, unknown, strict=True) if u]
    constants = {id(v) for v in jaxpr.constvars}
    pairs = list(zip(jaxpr.outvars, unknown_results, strict=True))
    read = [atom for eqn in unknown_eqns for atom in eqn.invars]
    needed: dict[int, Any] = {
        id(atom): atom
        for atom in (*read, *(v for v, u in pairs if u))
        if type(atom) is not Literal and id(atom) not in marked and id(atom) not in constants
    }
    residuals = list(needed.values())
    known = program(jaxpr, known_args, known_eqns, [*(v for v, u in pairs if not u), *residuals])
    rest = program(jaxpr, [*residuals, *unknown_args], unknown_eqns, [v for v, u in pairs if u])
    return Split(known, rest, tuple(not u for u in unknown_results))


def program(
    jaxpr: Jaxpr, invars: Sequence[Var], eqns: Sequence[JaxprEqn], outvars: Sequence[Any]
) -> Jaxpr:
    """A program of some of a jaxpr's equations, closed over the same constants."""
    return jaxpr.replace(
        invars=list(invars),
        eqns=list(eqns),
        outvars=list(outvars),
        effects=join_effects(eqn.effects for eqn in eqns),
    )


def with_zeros(
    jaxpr: Jaxpr, present: Sequence[bool], wanted: Sequence[bool], avals: Iterable[Any]
) -> Jaxpr:
    """A jaxpr that gives also results known to be zero.

    Args:
      jaxpr: gives the results that are ``present``.
      present, wanted: for each of all results, whether it is given, and whether it is to be.
      avals: the types of all results, as primals.
    """
    present, wanted = tuple(present), tuple(wanted)
    if present == wanted:
        return jaxpr
    avals = tuple(map(tangent_aval, avals))

    def fun(*args: Any) -> list[Any]:
        given = iter(eval_jaxpr(jaxpr, jaxpr.consts, *args))
        results = [next(given) if p else Zero(a) for p, a in zip(present, avals, strict=True)]
        return [instantiate(r) for r, w in zip(results, wanted, strict=True) if w]

    return jaxpr.derived(
        ("with zeros", present, wanted, avals),
        lambda: trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info),
    )
