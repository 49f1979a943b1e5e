"""Padding rules of loops, branches and checkpoint, whose jaxprs run on padded arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax

from ._dynamic_moves import index
from ._interpreter import PaddingRule, Site

__all__ = ["control_rules"]


def _scan(site: Site, *operands: Any) -> list[Any]:
    """Scan over the padding as well, where the carry is passed on unchanged."""
    params = site.params
    jaxpr: ir.Jaxpr = params["jaxpr"]
    n, reverse = params["length"], params["reverse"]
    const_count, carry_count = params["num_consts"], params["num_carry"]
    consts = operands[:const_count]
    init = operands[const_count : const_count + carry_count]
    xs = operands[const_count + carry_count :]
    padded = ir.is_symbolic_dim(n)
    if padded and site.eqn.effects:
        site.refuse(
            "its body has side effects, which would happen for padding as well",
            "take the effects out of the loop",
        )
    size = site.extents.size(n)
    # Iterations from the length on are over padding: their carry is dropped below.
    length = index(site.extents.length(n))

    def body(state: Any, x: Sequence[ir.Array]) -> Any:
        at, carry = state
        results = site.run(jaxpr, *consts, *carry, *x)
        after, ys = results[:carry_count], results[carry_count:]
        if padded:
            # In reverse, the padding comes first.
            position = lax.sub(np.int32(size - 1), at) if reverse else at
            after = _select_all(lax.lt(position, length), after, carry)
        return (lax.add(at, np.int32(1)), after), ys

    state, ys = lax.scan(
        body,
        (np.int32(0), list(init)),
        list(xs),
        length=size,
        reverse=reverse,
        unroll=params["unroll"],
    )
    return [*state[1], *ys]


def _select_all(condition: Any, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    return [
        lax.select(lax.broadcast_in_dim(condition, x.shape, ()), x, y)
        for x, y in zip(xs, ys, strict=True)
    ]


def _while(site: Site, *operands: object) -> list[Any]:
    params = site.params
    cond: ir.Jaxpr = params["cond_jaxpr"]
    body: ir.Jaxpr = params["body_jaxpr"]
    first = params["cond_nconsts"]
    second = first + params["body_nconsts"]
    cond_consts, body_consts, init = operands[:first], operands[first:second], operands[second:]
    aval: Any = cond.out_avals[0]
    if not aval.shape:
        return lax.while_loop(
            lambda carry: site.run(cond, *cond_consts, *carry)[0],
            lambda carry: site.run(body, *body_consts, *carry),
            list(init),
        )

    # A batched condition: the loop goes on while it holds for any valid example.
    # Padding examples may never satisfy the condition; masked, they cannot keep the loop running.
    def holds(carry: Any) -> Any:
        (condition,) = site.run(cond, *cond_consts, *carry)
        return lax.reduce_or(site.masked(condition, aval, False), tuple(range(len(aval.shape))))

    def step(carry: Any) -> Any:
        (condition,) = site.run(cond, *cond_consts, *carry)
        results = site.run(body, *body_consts, *carry)
        dims = tuple(range(len(aval.shape)))
        return [
            lax.select(lax.broadcast_in_dim(condition, x.shape, dims), x, y)
            for x, y in zip(results, carry, strict=True)
        ]

    return lax.while_loop(holds, step, list(init))


def _cond(site: Site, choice: Any, *operands: Any) -> list[Any]:
    branches = [_branch(site, jaxpr) for jaxpr in site.params["branches"]]
    return lax.switch(choice, branches, *operands)


def _branch(site: Site, jaxpr: ir.Jaxpr) -> Callable[..., list[Any]]:
    return lambda *operands: site.run(jaxpr, *operands)


def _checkpoint(site: Site, *operands: object) -> Any:
    """Bind checkpoint again: the compiler would merge an inlined recomputation with its origin."""
    jaxpr: ir.Jaxpr = site.params["jaxpr"]
    padded = ir.trace_to_jaxpr(
        lambda *xs: site.run(jaxpr, *xs), list(map(ir.get_aval, operands)), jaxpr.debug_info
    )
    return lax.remat_p.bind(
        *padded.consts, *operands, **{**site.params, "jaxpr": ir.convert_constvars(padded)}
    )


control_rules: dict[ir.Primitive, PaddingRule] = {
    lax.scan_p: _scan,
    lax.while_p: _while,
    lax.cond_p: _cond,
    lax.remat_p: _checkpoint,
}
