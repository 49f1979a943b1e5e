"""``scan``: a loop of known length that slices arrays and collects its results."""

from collections.abc import Sequence
from functools import partial
from itertools import compress
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_stablehlo as hlo
from ricci_batching import batched_at, moved_to
from ricci_lax.checkpoint_policies import Policy
from ricci_lax.rules._saving import Saving
from ricci_lax.shapes import concatenate, dynamic_index_in_dim
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure._broadcasting import expand_dims, zeros_of

from . import _scan_programs as programs
from ._remat_policy import RematPlan, remat_plan
from ._scalar_packing import pack, packing_of, unpack
from ._scan_lowering import lower_loop, stacked
from ._series import scan_series

__all__ = ["scan_p"]


def _scan_aval(*avals, jaxpr, length, num_carry, **params):
    outs: list[Any] = jaxpr.out_avals
    return [*outs[:num_carry], *(stacked(a, length) for a in outs[num_carry:])]


# Derivatives


def _nonzero(tangents: Sequence[Any]) -> list[Any]:
    return [t for t in tangents if type(t) is not ad.Zero]


def _flags(tangents: Sequence[Any]) -> tuple[bool, ...]:
    return tuple(type(t) is not ad.Zero for t in tangents)


def _scan_jvp(primals, tangents, *, jaxpr, num_consts, num_carry, **params):
    body, carry_flags, flags = programs.pushed_body(jaxpr, num_consts, num_carry, _flags(tangents))
    consts, carry, xs = programs.sections(primals, num_consts, num_carry)
    const_tangents, carry_tangents, xs_tangents = programs.sections(tangents, num_consts, num_carry)
    closed_over = _nonzero(const_tangents)
    outs = scan_p.bind(
        *consts,
        *closed_over,
        *carry,
        *map(ad.instantiate, compress(carry_tangents, carry_flags)),
        *xs,
        *_nonzero(xs_tangents),
        jaxpr=body,
        num_consts=num_consts + len(closed_over),
        num_carry=num_carry + sum(carry_flags),
        **params,
    )
    start = num_carry + sum(carry_flags)
    end = start + len(jaxpr.outvars) - num_carry
    results = [*outs[:num_carry], *outs[start:end]]
    out_tangents = [*outs[num_carry:start], *outs[end:]]
    return results, ad.join_tangents((*carry_flags, *flags), out_tangents, results)


def _scan_linearize(tape: ad.Tape, primals, tangents, *, jaxpr, num_consts, num_carry, **params):
    lin = programs.linearized_body(jaxpr, num_consts, num_carry, _flags(tangents))
    invariants: list[Any] = []
    if lin.invariants is not None:
        call = ir.staged_call.call
        invariants = call.bind(*primals[:num_consts], jaxpr=lin.invariants, name="invariants")
    closed_over = [invariants[i] for i in lin.closed_over]
    outs = scan_p.bind(
        *closed_over,
        *primals,
        jaxpr=lin.forward,
        num_consts=len(closed_over) + num_consts,
        num_carry=num_carry,
        **params,
    )
    values = [*primals, *outs, *invariants]
    results = outs[: len(jaxpr.outvars)]
    flags = (*lin.carry, *lin.collected)
    if not any(flags):
        return results, ad.join_tangents(flags, (), results)
    consts, carry, xs = programs.sections(tangents, num_consts, num_carry)
    fixed = [*(values[i] for i in lin.const_residuals), *_nonzero(consts)]
    recorded = tape.record(
        scan_p,
        [
            *fixed,
            *map(ad.instantiate, compress(carry, lin.carry)),
            *(values[i] for i in lin.xs_residuals),
            *_nonzero(xs),
        ],
        {"jaxpr": lin.tangent, "num_consts": len(fixed), "num_carry": sum(lin.carry), **params},
    )
    return results, ad.join_tangents(flags, recorded, results)


def _scan_transpose(cts, *args, jaxpr, num_consts, num_carry, **params):
    linear = tuple(map(ad.is_undefined_primal, args))
    split = programs.split_body(jaxpr, num_consts, num_carry, linear)
    if split is not None:
        return _transpose_split(split, linear, cts, args, num_consts, num_carry, params)
    consts, _, xs = programs.sections(args, num_consts, num_carry)
    lin_consts, lin_carry, lin_xs = programs.sections(linear, num_consts, num_carry)
    every = (*lin_consts, *(True,) * num_carry, *lin_xs)
    body = programs.transposed_body(jaxpr, num_consts, num_carry, every, _flags(cts))
    nonlinear = lambda values: [x for x in values if not ad.is_undefined_primal(x)]
    const_avals = [x.aval for x in consts if ad.is_undefined_primal(x)]
    # The cotangents of constants are sums over all iterations: they are carried, and start from
    # zero.
    sums = [ad.instantiate(ad.Zero(a)) for a in compress(const_avals, body.consts)]
    fixed = nonlinear(consts)
    cts_in = list(map(ad.instantiate, compress(cts[:num_carry], body.carry)))
    scanned = [*_nonzero(cts[num_carry:]), *nonlinear(xs)]
    # The last iteration reads the carry of the earlier ones: its cotangents come first.
    bind = partial(scan_p.bind, **{**params, "reverse": not params["reverse"]})
    if params["_split_transpose"]:
        outs = _bind_halves(bind, body, fixed, sums, cts_in, scanned)
    else:
        outs = bind(
            *fixed,
            *sums,
            *cts_in,
            *scanned,
            jaxpr=body.jaxpr,
            num_consts=len(fixed),
            num_carry=len(sums) + len(cts_in),
        )
    out_cts = iter(outs)
    const_cts, carry_cts, xs_cts = (
        iter([next(out_cts) if nz else None for nz in flags])
        for flags in (body.consts, body.carry, body.xs)
    )
    return [
        *(next(const_cts) if lin else None for lin in lin_consts),
        *(ct if lin else None for ct, lin in zip(carry_cts, lin_carry, strict=True)),
        *(next(xs_cts) if lin else None for lin in lin_xs),
    ]


def _bind_halves(bind, body, fixed, sums, cts, scanned):
    """Bind the transposed body as two scans; only the first has a sequential dependency."""
    first, second, count = programs.halves(body, len(fixed))
    bind = partial(bind, num_consts=len(fixed), _split_transpose=False)
    outs = bind(*fixed, *cts, *scanned, jaxpr=first, num_carry=len(cts))
    needed = outs[len(cts) : len(cts) + count]
    others = bind(*fixed, *sums, *needed, *scanned, jaxpr=second, num_carry=len(sums))
    return [*others[: len(sums)], *outs[: len(cts)], *others[len(sums) :]]


def _transpose_split(split, linear, cts, args, num_consts, num_carry, params):
    """Run the nonlinear part of the body forward, then transpose the scan of its linear part."""
    flags = (*linear[:num_consts], *split.carry, *linear[num_consts + num_carry :])
    nonlinear = [not flag for flag in flags]
    outs = scan_p.bind(
        *compress(args, nonlinear),
        jaxpr=split.nonlinear,
        num_consts=sum(nonlinear[:num_consts]),
        num_carry=num_carry - sum(split.carry),
        **params,
    )
    # The nonlinear scan returns the results that are not linear, then the residuals.
    needed = outs[len(split.results) - sum(split.results) :]
    arg_cts = iter(
        _scan_transpose(
            list(compress(cts, split.results)),
            *compress(args, flags),
            *needed,
            jaxpr=split.linear,
            num_consts=sum(linear[:num_consts]),
            num_carry=sum(split.carry),
            **params,
        )
    )
    return [next(arg_cts) if flag else None for flag in flags]


# Batching


def _scan_batch(axis, args, dims, *, jaxpr, num_consts, num_carry, **params):
    const_dims, carry_dims, xs_dims = programs.sections(tuple(dims), num_consts, num_carry)
    consts, carry, xs = programs.sections(args, num_consts, num_carry)
    in_dims = tuple(None if d is None else 0 for d in dims)
    body, targets, out_dims = programs.batched_body(jaxpr, num_carry, axis, in_dims, num_consts)
    # Constants are moved once here, rather than in each iteration. The scanned axis stays axis 0.
    consts, _ = moved_to(consts, const_dims, 0)
    carry = [
        x if target is None else batched_at(x, d, axis, target)
        for x, d, target in zip(carry, carry_dims, targets, strict=True)
    ]
    xs, _ = moved_to(xs, xs_dims, 1)
    outs = scan_p.bind(
        *consts, *carry, *xs, jaxpr=body, num_consts=num_consts, num_carry=num_carry, **params
    )
    return outs, [*targets, *(None if d is None else d + 1 for d in out_dims)]


def _packed_scan(*operands, packing, num_consts, num_carry, **params):
    """The scan with its scalars packed."""
    consts, carry, xs = programs.sections(operands, num_consts, num_carry)
    vectors = pack(carry, packing.carry, 0)
    outs = scan_p.bind(
        *consts,
        *vectors,
        *pack(xs, packing.xs, 1),
        num_consts=num_consts,
        num_carry=len(vectors),
        **params,
    )
    count = len(vectors)
    return [*unpack(outs[:count], packing.carry, 0), *unpack(outs[count:], packing.ys, 1)]


def _scan_lower(ctx: hlo.Lowering, *operands: hlo.Value, **params) -> list[hlo.Value]:
    packing = packing_of(params["jaxpr"], params["num_consts"], params["num_carry"])
    if packing is None:
        return lower_loop(ctx, *operands, **params)
    return hlo.traced(_packed_scan)(
        ctx, *operands, packing=packing, **{**params, "jaxpr": packing.jaxpr}
    )


def _scan_dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool):
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    results = ir.live_loop(jaxpr, slice(num_consts, num_consts + num_carry), needed, final)
    consts, _, xs = programs.sections(ir.needed_by(jaxpr, results, final), num_consts, num_carry)
    carry = results[:num_carry]
    arguments = (*consts, *carry, *xs)
    smaller = ir.narrowed(jaxpr, results, arguments, final)
    if smaller is jaxpr:
        return None
    counts = {"num_consts": sum(consts), "num_carry": sum(carry)}
    return ir.LiveCall({**params, "jaxpr": smaller, **counts}, arguments, results)


def _scan_saving(params: dict[str, Any], policy: Policy, needed: tuple[bool, ...]) -> Saving | None:
    jaxpr = inlined(params["jaxpr"])
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, carry, xs = programs.sections(jaxpr.invars, num_consts, num_carry)

    def plan_of(needed: tuple[bool, ...]) -> tuple[RematPlan, tuple[bool, ...]]:
        outvars = list(compress(jaxpr.outvars, needed))
        plan = remat_plan(jaxpr, policy, outvars)
        # To recompute a part of the carry, its value before the iteration is needed, too.
        read = plan.reads(outvars)
        return plan, (
            *(n or v in read for n, v in zip(needed, carry, strict=False)),
            *needed[num_carry:],
        )

    plan, needed = ir.fixpoint(plan_of, needed)
    if not plan.saved:
        return None
    # A saved value that the scan returns anyway is not collected twice.
    collected = {id(v): i for i, v in enumerate(jaxpr.outvars) if i >= num_carry}
    new = [v for v in plan.saved if id(v) not in collected]
    places = {id(v): len(jaxpr.outvars) + i for i, v in enumerate(new)}
    saved = set(map(id, plan.saved))
    results = tuple(
        n and not (i >= num_carry and id(v) in saved)
        for i, (n, v) in enumerate(zip(needed, jaxpr.outvars, strict=True))
    )
    live_carry = list(compress(carry, needed))
    first = ad.program(jaxpr, jaxpr.invars, plan.first, [*jaxpr.outvars, *new])
    again = ad.program(
        jaxpr,
        [*consts, *live_carry, *xs, *plan.saved],
        plan.again,
        list(compress(jaxpr.outvars, results)),
    )
    return Saving(
        {**params, "jaxpr": first},
        [stacked(v.aval, params["length"]) for v in new],
        [places.get(id(v), collected.get(id(v), 0)) for v in plan.saved],
        {**params, "jaxpr": again, "num_carry": len(live_carry)},
        (*(True,) * num_consts, *needed[:num_carry], *(True,) * len(xs)),
        results,
    )


def _scan_steps(
    steps: ir.Steps, *operands, jaxpr, length, num_consts, num_carry, reverse, **params
) -> list[Any]:
    consts, carry, xs = programs.sections(operands, num_consts, num_carry)
    rows: list[Any] = [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        row = lambda index, i=i: (0, (i, *index))
        slices = [steps.made(dynamic_index_in_dim(x, i, keepdims=False), row, x) for x in xs]
        outs = steps.run(jaxpr, [*consts, *carry, *slices], f"iteration {i} of scan")
        carry, rows[i] = outs[:num_carry], outs[num_carry:]
    collected = [
        steps.made(
            concatenate([expand_dims(y, (0,)) for y in ys], 0),
            lambda index: (index[0], index[1:]),
            *ys,
        )
        if ys
        else zeros_of(stacked(aval, 0))
        for ys, aval in zip(
            zip(*rows, strict=True) if rows else [()] * (len(jaxpr.outvars) - num_carry),
            jaxpr.out_avals[num_carry:],
            strict=True,
        )
    ]
    return [*carry, *collected]


def _scan_discharge(*args, jaxpr, num_consts, num_carry, **params) -> list[Any]:
    """The scan with the references that its body writes in the carry, or collected if scanned."""
    body, written, freed = ir.discharged(jaxpr)
    start = num_consts + num_carry
    values = ir.as_values(args, ir.reference_arguments(jaxpr))
    closed, scanned = [i for i in written if i < num_consts], [i for i in written if i >= start]
    order = [
        *(i for i in range(num_consts) if i not in closed),
        *closed,
        *range(num_consts, len(args)),
    ]
    count, total = len(jaxpr.outvars), len(jaxpr.outvars) + len(closed)
    outvars = body.outvars
    program = body.derived(
        ("scan over references", num_consts, num_carry),
        lambda: body.replace(
            invars=[body.invars[i] for i in order],
            outvars=[*outvars[count:total], *outvars[:count], *outvars[total:]],
        ),
    )
    outs = scan_p.bind(
        *(values[i] for i in order),
        jaxpr=program,
        num_consts=num_consts - len(closed),
        num_carry=num_carry + len(closed),
        **params,
    )
    results = outs[len(closed) : len(closed) + count]
    last = [*outs[: len(closed)], *outs[len(closed) + count :]]
    ir.write_back([args[i] for i in (*closed, *scanned)], last, results)
    ir.free_references(args, freed)
    return results


def _scan_memory(
    on_host: Sequence[bool], *, jaxpr: ir.Jaxpr, num_consts: int, num_carry: int, **params: object
) -> tuple[bool, ...]:
    """The memory rule: stacked results are where the body leaves each of them."""
    end = num_consts + num_carry
    return ir.carry_on_host(jaxpr, on_host[:num_consts], on_host[num_consts:end], on_host[end:])


# Operands: the constants that the body closes over, the initial carry, and the scanned arrays.
# The body takes the constants, the carry and a slice of each scanned array; it returns the next
# carry and the results to collect.
scan_p: ir.Primitive = ir.define(
    "scan",
    abstract_eval=_scan_aval,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: params["jaxpr"].effects,
    jvp=_scan_jvp,
    jet=ad.at_once(lambda *args, **params: scan_series(scan_p.bind, *args, **params)),
    linearize=_scan_linearize,
    split=ad.split_by_linearizing(_scan_linearize),
    transpose=_scan_transpose,
    batch=_scan_batch,
    lower=_scan_lower,
    dead_code=_scan_dead_code,
    saving=_scan_saving,
    steps=_scan_steps,
    memory=_scan_memory,
    discharge=_scan_discharge,
    order=hlo.tokens_at(
        lambda eqn: eqn.params["num_consts"],
        jaxpr=lambda eqn, effects: hlo.thread_tokens(
            eqn.params["jaxpr"], effects, eqn.params["num_consts"]
        ),
        num_carry=lambda eqn, effects: eqn.params["num_carry"] + len(effects),
    ),
    shown=ir.hides(_split_transpose=False),
)
