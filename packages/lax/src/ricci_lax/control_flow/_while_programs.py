"""Derived jaxprs of a while loop: with tangents, batched, with tokens, and without dead code.

The condition takes the constants that it closes over and the carry. The body takes the constants
that it closes over and the carry, and returns the next carry.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any

import ricci_ir as ir
from ricci_autodiff import Zero, instantiate, jvp_jaxpr
from ricci_batching import batch_jaxpr
from ricci_stablehlo import thread_tokens, with_tokens


def sections(values: Sequence[Any], cond_nconsts: int, body_nconsts: int) -> tuple:
    """The operands of a loop by kind: the condition's constants, the body's, and the carry."""
    start = cond_nconsts + body_nconsts
    return values[:cond_nconsts], values[cond_nconsts:start], values[start:]


def without_unchanged(
    condition: ir.Jaxpr, cond_nconsts: int, body: ir.Jaxpr, nconsts: int
) -> tuple[ir.Jaxpr, ir.Jaxpr, tuple[bool, ...]] | tuple[()]:
    """Move unchanged parts of the carry that the condition does not read to the body's constants.

    Returns:
      The condition; the body, with these values as its first constants; and for each part of the
      carry whether it still is one. Empty if all of them are: a jaxpr cached on itself would be
      left to the garbage collector.
    """
    read = {id(x) for eqn in condition.eqns for x in eqn.invars} | set(map(id, condition.outvars))
    cond_args, args = condition.invars[cond_nconsts:], body.invars[nconsts:]
    # A part that the condition reads stays: it would have to become a constant of both jaxprs.
    moving = tuple(
        out is not arg or id(cond_arg) in read
        for out, arg, cond_arg in zip(body.outvars, args, cond_args, strict=True)
    )
    if all(moving):
        return ()
    unchanged = [arg for arg, moves in zip(args, moving, strict=True) if not moves]
    return (
        condition.replace(invars=[*condition.invars[:cond_nconsts], *compress(cond_args, moving)]),
        body.replace(
            invars=[*unchanged, *body.invars[:nconsts], *compress(args, moving)],
            outvars=[*compress(body.outvars, moving)],
        ),
        moving,
    )


def _pushed(cond_jaxpr: ir.Jaxpr, body_jaxpr: ir.Jaxpr, consts: tuple, carry: tuple):
    """The condition and the body of the loop that carries tangents, too; cached on the body.

    Args:
      consts, carry: for each of the body's arguments, whether it has a tangent.

    Returns:
      The condition, the body, and which parts of the carry have a tangent in the end.
    """
    key = ("jvp of while", cond_jaxpr, consts, carry)
    return body_jaxpr.derived(key, lambda: _push(cond_jaxpr, body_jaxpr, consts, carry))


def _push(cond_jaxpr, body_jaxpr, consts, carry):
    def push(carry: tuple[bool, ...]) -> tuple[ir.Jaxpr, tuple[bool, ...]]:
        pushed, nonzeros = jvp_jaxpr(body_jaxpr, (*consts, *carry), carry)
        return pushed, tuple(nonzeros)

    # A part of the carry that gets a tangent in one iteration has it in the next one.
    pushed, carry = ir.fixpoint(push, carry)
    # The tangents stand behind all primals. Those of the constants move ahead of the carry: a loop
    # passes its constants to every iteration, and its carry to the next.
    count = len(body_jaxpr.invars)
    start, middle = len(consts), count + sum(consts)
    args = pushed.invars
    body = pushed.replace(
        invars=[*args[:start], *args[count:middle], *args[start:count], *args[middle:]]
    )
    # The condition has no use for tangents, but gets the whole carry.
    tangents = [ir.Var(v.aval) for v in args[middle:]]
    condition = cond_jaxpr.replace(invars=[*cond_jaxpr.invars, *tangents])
    return condition, body, carry


def pushed_operands(primals, tangents, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    """The operands and parameters of the loop that carries tangents, too."""
    cond_consts, consts, carry = sections(primals, cond_nconsts, body_nconsts)
    _, const_tangents, carry_tangents = sections(tangents, cond_nconsts, body_nconsts)
    flags = tuple(type(t) is not Zero for t in const_tangents)
    condition, body, nonzeros = _pushed(
        cond_jaxpr, body_jaxpr, flags, tuple(type(t) is not Zero for t in carry_tangents)
    )
    operands = [
        *cond_consts,
        *consts,
        *(t for t in const_tangents if type(t) is not Zero),
        *carry,
        *(instantiate(t) for t, nz in zip(carry_tangents, nonzeros, strict=True) if nz),
    ]
    params = {
        "cond_jaxpr": condition,
        "cond_nconsts": cond_nconsts,
        "body_jaxpr": body,
        "body_nconsts": body_nconsts + sum(flags),
    }
    return operands, params, nonzeros


def batched_programs(cond_jaxpr, body_jaxpr, axis, cond_dims, const_dims, carry):
    """The batched condition and body, as ``_batch`` finds them; cached on the body."""
    key = ("batch of while", cond_jaxpr, axis, cond_dims, const_dims, carry)
    return body_jaxpr.derived(
        key, lambda: _batch(cond_jaxpr, body_jaxpr, axis, cond_dims, const_dims, carry)
    )


def _batch(cond_jaxpr, body_jaxpr, axis, cond_dims, const_dims, carry):
    """The batched condition and body, and the batch dimension of each part of the carry.

    If the predicate differs between examples, all of the carry is batched, along axis 0 as the
    predicate is. Otherwise the batch stands behind the dimensions of the predicate, if it has any.
    """
    rank = len(cond_jaxpr.out_avals[0].shape)  # pyright: ignore[reportAttributeAccessIssue]

    def batch(state):
        dim, carry = state
        dims = tuple(dim if batched else None for batched in carry)
        _, (pred_dim,) = batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *dims))
        if pred_dim is not None and (dim or not all(carry)):
            return (None, dims, pred_dim), (0, (True,) * len(carry))
        body, out_dims = batch_jaxpr(body_jaxpr, axis, (*const_dims, *dims), dims)
        # A part that gets batched in one iteration is batched from the first one on.
        grown = tuple(b or d is not None for b, d in zip(carry, out_dims, strict=True))
        return (body, dims, pred_dim), (dim, grown)

    # A batched part of the carry can batch the predicate, and that batches all parts. Flags are
    # only ever set, so that this ends.
    (body, dims, pred_dim), _ = ir.fixpoint(batch, (rank, carry))
    pred_dims = None if pred_dim is None else (0,)
    condition, _ = batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *dims), pred_dims)
    return condition, body, dims


def live_while(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> ir.LiveCall | None:
    """The dead-code rule: the loop over the live parts of the carry."""
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    read = ir.needed_by(condition, (True,), final)
    # The condition decides how often the body runs: its operands are live whatever is needed.
    live = tuple(a or b for a, b in zip(needed, read[cond_nconsts:], strict=True))
    carry = ir.live_loop(body, slice(body_nconsts, None), live, final)
    cond_consts, consts = read[:cond_nconsts], ir.needed_by(body, carry, final)[:body_nconsts]
    smaller = (
        ir.narrowed(condition, (True,), (*cond_consts, *carry), final),
        ir.narrowed(body, carry, (*consts, *carry), final),
    )
    if smaller == (condition, body):
        return None
    return ir.LiveCall(
        {
            "cond_jaxpr": smaller[0],
            "cond_nconsts": sum(cond_consts),
            "body_jaxpr": smaller[1],
            "body_nconsts": sum(consts),
        },
        (*cond_consts, *consts, *carry),
        carry,
    )


def ordered_while(eqn: ir.JaxprEqn, effects: tuple[ir.Effect, ...], tokens: list[ir.Var]):
    """The loop with tokens in its carry; its condition returns some if it has effects."""
    params = eqn.params
    condition, consts = params["cond_jaxpr"], params["cond_nconsts"]
    if condition.effects:
        condition = thread_tokens(condition, effects, consts)
    else:
        unused = [ir.Var(ir.abstract_token) for _ in effects]
        invars = condition.invars
        condition = condition.replace(invars=[*invars[:consts], *unused, *invars[consts:]])
    body = thread_tokens(params["body_jaxpr"], effects, params["body_nconsts"])
    changed = {**params, "cond_jaxpr": condition, "body_jaxpr": body}
    place = consts + params["body_nconsts"]
    return with_tokens(eqn, eqn.primitive, changed, tokens, place)
