"""Rules of loops and branches: their programs are applied to padded arrays as well."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir import (
    Array,
    Jaxpr,
    Primitive,
    convert_constvars,
    get_aval,
    is_symbolic_dim,
    trace_to_jaxpr,
)
from ricci_lax import (
    add,
    broadcast_in_dim,
    cond_p,
    lt,
    reduce_or,
    remat_p,
    scan,
    scan_p,
    select,
    sub,
    switch,
    while_loop,
    while_p,
)

from ._placing import index
from ._walk import PaddingRule, Site

__all__ = ["control_rules"]


def _scan(site: Site, *operands: Any) -> list[Any]:
    """A loop over a padded dimension goes over the padding, too, and keeps its carry there."""
    params = site.params
    jaxpr: Jaxpr = params["jaxpr"]
    n, reverse = params["length"], params["reverse"]
    const_count, carry_count = params["num_consts"], params["num_carry"]
    consts = operands[:const_count]
    init = operands[const_count : const_count + carry_count]
    xs = operands[const_count + carry_count :]
    padded = is_symbolic_dim(n)
    if padded and site.eqn.effects:
        site.refuse(
            "its body has side effects, which would happen for padding as well",
            "take the effects out of the loop",
        )
    size = site.extents.size(n)
    length = index(site.extents.length(n))

    def body(state: Any, x: Sequence[Array]) -> Any:
        at, carry = state
        results = site.run(jaxpr, *consts, *carry, *x)
        after, ys = results[:carry_count], results[carry_count:]
        if padded:
            # In reverse, the padding comes first.
            position = sub(np.int32(size - 1), at) if reverse else at
            after = _chosen(lt(position, length), after, carry)
        return (add(at, np.int32(1)), after), ys

    state, ys = scan(
        body,
        (np.int32(0), list(init)),
        list(xs),
        length=size,
        reverse=reverse,
        unroll=params["unroll"],
    )
    return [*state[1], *ys]


def _chosen(condition: Any, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    return [
        select(broadcast_in_dim(condition, x.shape, ()), x, y) for x, y in zip(xs, ys, strict=True)
    ]


def _while(site: Site, *operands: object) -> list[Any]:
    params = site.params
    cond: Jaxpr = params["cond_jaxpr"]
    body: Jaxpr = params["body_jaxpr"]
    first = params["cond_nconsts"]
    second = first + params["body_nconsts"]
    known, fixed, init = operands[:first], operands[first:second], operands[second:]
    aval: Any = cond.out_avals[0]
    if not aval.shape:
        return while_loop(
            lambda carry: site.run(cond, *known, *carry)[0],
            lambda carry: site.run(body, *fixed, *carry),
            list(init),
        )

    # A condition for each example: the loop goes on while one of the valid ones holds.
    def holds(carry: Any) -> Any:
        (condition,) = site.run(cond, *known, *carry)
        return reduce_or(site.masked(condition, aval, False), tuple(range(len(aval.shape))))

    def step(carry: Any) -> Any:
        (condition,) = site.run(cond, *known, *carry)
        results = site.run(body, *fixed, *carry)
        dims = tuple(range(len(aval.shape)))
        return [
            select(broadcast_in_dim(condition, x.shape, dims), x, y)
            for x, y in zip(results, carry, strict=True)
        ]

    return while_loop(holds, step, list(init))


def _cond(site: Site, choice: Any, *operands: Any) -> list[Any]:
    branches = [_branch(site, jaxpr) for jaxpr in site.params["branches"]]
    return switch(choice, branches, *operands)


def _branch(site: Site, jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    return lambda *operands: site.run(jaxpr, *operands)


def _checkpoint(site: Site, *operands: object) -> Any:
    """A recomputation stays one: the compiler would join it with what was computed before."""
    jaxpr: Jaxpr = site.params["jaxpr"]
    padded = trace_to_jaxpr(
        lambda *xs: site.run(jaxpr, *xs), list(map(get_aval, operands)), jaxpr.debug_info
    )
    return remat_p.bind(
        *padded.consts, *operands, **{**site.params, "jaxpr": convert_constvars(padded)}
    )


control_rules: dict[Primitive, PaddingRule] = {
    scan_p: _scan,
    while_p: _while,
    cond_p: _cond,
    remat_p: _checkpoint,
}
