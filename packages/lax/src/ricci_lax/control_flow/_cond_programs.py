"""Derived branches of a cond: for forward and reverse mode, for batches and rematerialisation.

The branches of a cond take the same operands and return the same types. Values derived from all of
them are cached on the first.
"""

import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batch_jaxpr
from ricci_ir import Array, Jaxpr, Var
from ricci_lax.checkpoint_policies import Policy
from ricci_lax.rules._saving import Saving
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure._broadcasting import zeros_of

from ._remat_policy import RematPlan, remat_plan

type Branches = tuple[Jaxpr, ...]
Flags = tuple[bool, ...]


def per_branch(
    key: Hashable, branches: tuple[Jaxpr, ...], build: Callable[[], Any]
) -> tuple[Any, ...]:
    """Return ``build()``, derived from all branches and cached on the first of them."""
    # The key holds the branches weakly: the cache belongs to the first one, and a strong reference
    # to it would be a cycle.
    return branches[0].derived((key, *map(weakref.ref, branches)), build)


def forwarded_operand(branches: Sequence[Jaxpr], result: int) -> int | None:
    """The operand that every branch returns as this result, if there is one."""
    places = {id(var): i for i, var in enumerate(branches[0].invars)}
    operand = places.get(id(branches[0].outvars[result]))
    if operand is None:
        return None
    same = all(branch.outvars[result] is branch.invars[operand] for branch in branches)
    return operand if same else None


def without_forwarded(
    branches: Sequence[Jaxpr],
) -> tuple[tuple[Jaxpr, ...], list[int | None]] | tuple[()]:
    """The branches without forwarded operands, and each result's forwarded operand, if any."""
    forwarded = [forwarded_operand(branches, i) for i in range(len(branches[0].outvars))]
    if not any(i is not None for i in forwarded):
        return ()
    computed = [i is None for i in forwarded]
    return tuple(b.replace(outvars=[*compress(b.outvars, computed)]) for b in branches), forwarded


# Derivatives


def jvp_branches(branches, nonzeros):
    # All branches return the same results: a tangent that is nonzero in one is returned by all.
    union = _union(ad.jvp_jaxpr(branch, nonzeros)[1] for branch in branches)
    return tuple(ad.jvp_jaxpr(branch, nonzeros, union)[0] for branch in branches), union


def _union(flags: Iterable[Sequence[bool]]) -> tuple[bool, ...]:
    """The positions at which any of the branches has the flag set."""
    return tuple(map(any, zip(*flags, strict=True)))


def linearize_branches(branches, nonzeros):
    """Linearize the branches: the forward branches, the tangent branches, the residuals' places.

    All branches of a cond return the same types, but their residuals differ. Since only one branch
    runs, they share result slots: residuals of one type in different branches use one slot, and a
    branch fills the slots that it does not use with zeros. A residual's place is its
    position among the operands, followed by the results of the forward branches.
    """
    linearized = [ad.linearize_jaxpr(branch, nonzeros) for branch in branches]
    fixed = len(branches[0].invars) + len(branches[0].outvars)
    slots: list[Any] = []
    homes = [_place_residuals(lin, fixed, slots) for lin in linearized]
    places = tuple(sorted({place for home in homes for place in home}))
    union = _union(lin.nonzeros for lin in linearized)
    forward = tuple(
        _forward_branch(lin.forward, home, fixed, slots, len(branches[0].outvars), lin.residuals)
        for lin, home in zip(linearized, homes, strict=True)
    )
    avals = [*branches[0].in_avals, *forward[0].out_avals]
    tangent = tuple(
        _tangent_branch(
            ad.with_zeros(lin.tangent, lin.nonzeros, union, branches[0].out_avals),
            home,
            [(place, avals[place]) for place in places],
        )
        for lin, home in zip(linearized, homes, strict=True)
    )
    return forward, tangent, places, union


def _place_residuals(lin: ad.Linearized, fixed: int, slots: list[Any]) -> list[int]:
    """The place of each residual of a branch; one for which no slot is free adds a slot."""
    outs = [*lin.forward.in_avals, *lin.forward.out_avals]
    # Only one branch runs, so that branches can return their residuals in the same slots.
    free = iter(_slots_for([outs[i] for i in lin.residuals if i >= fixed], slots))
    return [i if i < fixed else fixed + next(free) for i in lin.residuals]


def _slots_for(avals: Sequence[Any], slots: list[Any]) -> list[int]:
    """Assign a slot of its type to each value, adding slots to ``slots`` if none is free."""
    free = list(range(len(slots)))
    assigned = []
    for aval in avals:
        # Types are interned: equal ones are one object.
        slot = next((i for i in free if slots[i] is aval), None)
        if slot is None:
            slot = len(slots)
            slots.append(aval)
        else:
            free.remove(slot)
        assigned.append(slot)
    return assigned


def _forward_branch(
    jaxpr: Jaxpr,
    home: Sequence[int],
    fixed: int,
    slots: Sequence[Any],
    count: int,
    residuals: Sequence[int],
) -> Jaxpr:
    """The forward branch with its residuals in their slots; zeros fill the other slots."""
    arguments = len(jaxpr.invars)
    source = {
        place - fixed: position - arguments
        for place, position in zip(home, residuals, strict=True)
        if place >= fixed
    }

    def fun(*args: Array) -> list[Any]:
        outs = ir.eval_jaxpr(jaxpr, jaxpr.consts, *args)
        filled = [
            outs[source[i]] if i in source else zeros_of(aval) for i, aval in enumerate(slots)
        ]
        return [*outs[:count], *filled]

    if source == {i: count + i for i in range(len(slots))}:
        return jaxpr
    return ir.trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info)


def _tangent_branch(jaxpr: Jaxpr, home: Sequence[int], places: Sequence[tuple[int, Any]]) -> Jaxpr:
    """A tangent branch that takes the residuals of all branches ahead of the tangents."""
    variables = dict(zip(home, jaxpr.invars, strict=False))
    leading = [variables.get(place) or Var(aval) for place, aval in places]
    return jaxpr.replace(invars=[*leading, *jaxpr.invars[len(home) :]])


def transpose_branches(branches, linear, ct_flags, required):
    transposed = [
        ad.transpose_jaxpr(branch, linear, ct_flags, required=required) for branch in branches
    ]
    # Every branch returns the same cotangents: zeros where only another one has a cotangent.
    union = _union(nonzeros for _, nonzeros in transposed)
    avals = [v.aval for v, lin in zip(branches[0].invars, linear, strict=True) if lin]
    return (
        tuple(ad.with_zeros(jaxpr, nonzeros, union, avals) for jaxpr, nonzeros in transposed),
        union,
    )


# Batching


def batch_branches(branches, axis, dims):
    # A result that one branch batches is batched by all, at axis 0.
    each = [batch_jaxpr(branch, axis, dims)[1] for branch in branches]
    out_dims = tuple(
        0 if any(d is not None for d in result) else None for result in zip(*each, strict=True)
    )
    return tuple(batch_jaxpr(branch, axis, dims, out_dims)[0] for branch in branches), out_dims


# Dead code


def live_branches(params: dict[str, Any], needed: tuple[bool, ...], final: bool):
    branches = params["branches"]
    # An operand stays if any of the branches reads it.
    arguments = _union(ir.needed_by(branch, needed, final) for branch in branches)
    smaller = tuple(ir.narrowed(branch, needed, arguments, final) for branch in branches)
    if smaller == branches:
        return None
    return ir.LiveCall({**params, "branches": smaller}, (True, *arguments), needed)


# Rematerialisation


def saved_in_branches(
    branches: Branches, policy: Policy, needed: Flags, **params: object
) -> Saving | None:
    """Split the branches into a pass that saves the policy's values and one that recomputes.

    Only one branch runs: saved values of one type in different branches share a result, as
    residuals do.
    """
    branches = tuple(map(inlined, branches))
    plans = [
        remat_plan(branch, policy, list(compress(branch.outvars, needed))) for branch in branches
    ]
    if not any(plan.saved for plan in plans):
        return None
    count, arguments = len(needed), len(branches[0].invars)
    # A result is saved itself if each branch saves it, or returns a constant.
    saved_results = [
        i
        for i in range(count)
        if needed[i]
        and any(_saves(plan, b.outvars[i]) for plan, b in zip(plans, branches, strict=True))
        and all(
            _saves(plan, b.outvars[i]) or _is_constant(b, b.outvars[i])
            for plan, b in zip(plans, branches, strict=True)
        )
    ]
    results = tuple(n and i not in saved_results for i, n in enumerate(needed))
    slots: list[Any] = []
    others = [
        [v for v in plan.saved if all(v is not branch.outvars[i] for i in saved_results)]
        for plan, branch in zip(plans, branches, strict=True)
    ]
    homes = [_slots_for([v.aval for v in saved], slots) for saved in others]
    first, again = [], []
    for branch, plan, saved, home in zip(branches, plans, others, homes, strict=True):
        forward = ad.program(branch, branch.invars, plan.first, [*branch.outvars, *saved])
        outs = range(arguments + count, arguments + count + len(saved))
        places = [arguments + count + slot for slot in home]
        first.append(_forward_branch(forward, places, arguments + count, slots, count, outs))
        residuals = [
            *(_variable(plan, branch.outvars[i]) for i in saved_results),
            *(
                next((v for v, h in zip(saved, home, strict=True) if h == slot), None) or Var(aval)
                for slot, aval in enumerate(slots)
            ),
        ]
        outvars = list(compress(branch.outvars, results))
        again.append(ad.program(branch, [*branch.invars, *residuals], plan.again, outvars))
    return Saving(
        {"branches": tuple(first), **params},
        slots,
        [*saved_results, *range(count, count + len(slots))],
        {"branches": tuple(again), **params},
        (True,) * (1 + arguments),
        results,
    )


def _saves(plan: RematPlan, atom: object) -> bool:
    return any(v is atom for v in plan.saved)


def _variable(plan: RematPlan, atom: Any) -> Var:
    """The variable of a saved result in the second pass of a branch."""
    return atom if _saves(plan, atom) else Var(atom.aval)


def _is_constant(branch: Jaxpr, atom: object) -> bool:
    """Whether a result of a branch is a literal, or filled with one."""
    if type(atom) is ir.Literal:
        return True
    makers = [eqn for eqn in branch.eqns if any(v is atom for v in eqn.outvars)]
    return len(makers) == 1 and all(type(a) is ir.Literal for a in makers[0].invars)
