"""Partial evaluation: split a jaxpr by which of its arguments are known."""

from collections.abc import Iterable, Sequence
from itertools import compress

import ricci_ir as ir
from ricci_ir import AbstractValue, Array, Atom, Jaxpr, JaxprEqn, Var

from ._tangent import Zero, instantiate, tangent_aval

__all__ = ["Split", "dependent", "program", "split_jaxpr", "with_zeros"]


class Split(ir.TupleRecord):
    """A jaxpr split into two jaxprs.

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
    """Find the variables of a jaxpr that depend on some of its arguments.

    Args:
      jaxpr: the jaxpr.
      arguments: for each argument, whether it is one of them.
      effects: whether results of equations with effects count as dependent, too.

    Returns:
      The dependent variables; and for each result, whether it is dependent.

    Example:
      >>> import ricci
      >>> from ricci_autodiff import dependent
      >>> jaxpr = ricci.make_jaxpr(lambda x, y: (x + y, y * 2))(1.0, 2.0)
      >>> dependent(jaxpr, [True, False])[1]
      (True, False)
    """
    # One forward pass is enough: equations are in dependency order, so when one is reached, its
    # operands are marked already if they ever will be.
    marked: set[Atom] = set(compress(jaxpr.invars, arguments))
    for eqn in jaxpr.eqns:
        if (effects and eqn.effects) or not marked.isdisjoint(eqn.invars):
            marked.update(eqn.outvars)
    return marked, tuple([atom in marked for atom in jaxpr.outvars])


def split_jaxpr(
    jaxpr: Jaxpr, unknown: Sequence[bool], unknown_results: Sequence[bool] | None = None
) -> Split:
    """Split a jaxpr by which of its arguments are known; cached on the jaxpr.

    Args:
      jaxpr: the jaxpr.
      unknown: for each argument, whether it is unknown.
      unknown_results: for each result, whether ``Split.unknown`` returns it. This must be true of
        all results that depend on unknown arguments, and by default is true of only these.
    """
    unknown = tuple(unknown)
    results = unknown_results if unknown_results is None else tuple(unknown_results)
    return jaxpr.derived(("split", unknown, results), lambda: _split_jaxpr(jaxpr, unknown, results))


def _split_jaxpr(
    jaxpr: Jaxpr, unknown: tuple[bool, ...], results: tuple[bool, ...] | None
) -> Split:
    marked, unknown_results = dependent(jaxpr, unknown)
    if results is not None:
        unknown_results = results
    known_eqns, unknown_eqns = [], []
    for eqn in jaxpr.eqns:
        # Operands count, too: an equation with effects may have no results.
        free = marked.isdisjoint(eqn.invars) and marked.isdisjoint(eqn.outvars)
        (known_eqns if free else unknown_eqns).append(eqn)
    # A residual is a known value that the second jaxpr reads or returns. Constants are not
    # residuals: both jaxprs are closed over them.
    known_args = [v for v, u in zip(jaxpr.invars, unknown, strict=True) if not u]
    unknown_args = list(compress(jaxpr.invars, unknown))
    constants = set(jaxpr.constvars)
    pairs = list(zip(jaxpr.outvars, unknown_results, strict=True))
    read = [atom for eqn in unknown_eqns for atom in eqn.invars]
    candidates: dict[Var, None] = {
        atom: None
        for atom in (*read, *(v for v, u in pairs if u))
        if type(atom) is Var and atom not in marked and atom not in constants
    }
    recomputed, residuals = recompute_cheap(known_eqns, candidates)
    known_outs = [*(v for v, u in pairs if not u), *residuals]
    return Split(
        program(jaxpr, known_args, known_eqns, known_outs),
        program(
            jaxpr,
            [*residuals, *unknown_args],
            [*recomputed, *unknown_eqns],
            [v for v, u in pairs if u],
        ),
        tuple(not u for u in unknown_results),
    )


def recompute_cheap(
    eqns: Iterable[JaxprEqn], residuals: Iterable[Var]
) -> tuple[list[JaxprEqn], list[Var]]:
    """Find equations to recompute in a second jaxpr instead of passing their results to it.

    These cost next to nothing: arrays made of literals, such as zeros, and casts to varying values.

    Args:
      eqns: the equations of the first jaxpr.
      residuals: those of its variables that the second jaxpr reads.

    Returns:
      The equations to recompute, in order, and the variables that remain residuals.
    """
    # The dictionary has the order of the equations, and a chain is followed to its start. So the
    # recomputed equations are complete and sorted, without another sort.
    cheap = {eqn.outvars[0]: eqn for eqn in eqns if _is_cheap(eqn)}
    if not cheap:
        return [], list(residuals)
    recomputed: set[Var] = set()
    remaining: dict[Var, None] = {}
    for var in residuals:
        # Follow a chain of casts back, to an array made of literals or to the first variable that
        # is not cheap, which remains a residual in place of the casts' result.
        atom: Atom = var
        while type(atom) is Var and atom in cheap:
            recomputed.add(atom)
            operands = cheap[atom].invars
            if not operands or type(operands[0]) is not Var:
                break
            atom = operands[0]
        else:
            remaining[atom] = None  # pyright: ignore[reportArgumentType]
    return [eqn for var, eqn in cheap.items() if var in recomputed], list(remaining)


def _is_cheap(eqn: JaxprEqn) -> bool:
    """Whether an equation is a cast, or makes an array of literals."""
    primitive = eqn.primitive
    if primitive is ir.varying_cast.call:
        return True
    return (
        primitive in ir.exact_rules
        and not primitive.multiple_results
        and not any(type(atom) is Var for atom in eqn.invars)
    )


def program(
    jaxpr: Jaxpr, invars: Sequence[Var], eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]
) -> Jaxpr:
    """Make a jaxpr of some of a jaxpr's equations, closed over the same constants."""
    return jaxpr.replace(
        invars=list(invars),
        eqns=list(eqns),
        outvars=list(outvars),
        effects=ir.join_effects(eqn.effects for eqn in eqns),
    )


def with_zeros(
    jaxpr: Jaxpr, present: Sequence[bool], returned: Sequence[bool], avals: Iterable[AbstractValue]
) -> Jaxpr:
    """Return a jaxpr that instantiates some zero tangents among its results.

    Args:
      jaxpr: returns the tangents that are not zero.
      present: for each tangent, whether ``jaxpr`` returns it.
      returned: for each tangent, whether the new jaxpr returns it.
      avals: the types of the primals.
    """
    present, returned = tuple(present), tuple(returned)
    if present == returned:
        return jaxpr
    tangent_avals = tuple(map(tangent_aval, avals))

    def fun(*args: Array) -> list[Array]:
        nonzeros = iter(ir.eval_jaxpr(jaxpr, jaxpr.consts, *args))
        tangents = [
            next(nonzeros) if p else Zero(a) for p, a in zip(present, tangent_avals, strict=True)
        ]
        return [instantiate(t) for t in compress(tangents, returned)]

    return jaxpr.derived(
        ("with zeros", present, returned, tangent_avals),
        lambda: ir.trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info),
    )
