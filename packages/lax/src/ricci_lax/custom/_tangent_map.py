"""``tangent_map``: the derivative of a jaxpr as one linear operation, with its transpose."""

from collections.abc import Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batch_jaxpr, batched_at
from ricci_lax.rules._law_examples import discrete
from ricci_stablehlo import Lowering, Value

from ._call import bind_once

__all__ = ["tangent_map_p"]


def _map_program(jaxpr: ir.Jaxpr, count: int, transposed: bool) -> ir.Jaxpr:
    """The derivative (or its transpose) as a jaxpr of all operands of ``tangent_map_p``."""
    key = ("tangent_map", count, transposed)
    return jaxpr.derived(key, lambda: _make_program(jaxpr, count, transposed))


def _make_program(jaxpr: ir.Jaxpr, count: int, transposed: bool) -> ir.Jaxpr:
    avals = jaxpr.in_avals
    fixed = len(avals) - count

    def forward(*args: ir.Array) -> list[Any]:
        primals, direction = args[: len(avals)], args[len(avals) :]
        zeros = [ad.Zero.from_primal(x) for x in primals[:fixed]]
        run = lambda *xs: ir.eval_jaxpr(jaxpr, (), *xs)
        return [ad.instantiate(t) for t in ad.jvp_flat(run, primals, [*zeros, *direction])[1]]

    def backward(*args: ir.Array) -> list[Any]:
        primals, cts = args[: len(avals)], args[len(avals) :]
        program = _map_program(jaxpr, count, False)
        linear = [False] * len(avals) + [True] * count
        results = ad.transpose_flat(program, linear, [*primals, *(None,) * count], cts)
        return [ad.instantiate(ct) for ct in results]

    last = jaxpr.out_avals if transposed else avals[fixed:]
    fun = backward if transposed else forward
    return ir.trace_to_jaxpr(fun, [*avals, *map(ad.tangent_aval, last)], jaxpr.debug_info)


def tangent_map(operands: Sequence[Any], **params: Any) -> list[Any]:
    """Apply the derivative of a jaxpr; see ``tangent_map_p``."""
    run = lambda: ir.jaxpr_as_fun(_map_program(**params), *operands)
    return bind_once(tangent_map_p, operands, params, run)


def run_with_maps(jaxpr: ir.Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Apply a jaxpr without constants, running the maps in it as ``tangent_map`` does."""
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
    read = lambda atom: atom.operand() if isinstance(atom, ir.Literal) else env[atom]
    with ir.SettingsSwitch() as switch:
        for eqn in jaxpr.eqns:
            switch.to(eqn.settings)
            operands = list(map(read, eqn.invars))
            if eqn.primitive is tangent_map_p:
                outs = tangent_map(operands, **eqn.params)
            else:
                outs = eqn.primitive.bind(*operands, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
            env.update(zip(eqn.outvars, outs, strict=True))
    return list(map(read, jaxpr.outvars))


def _abstract_eval(*avals, jaxpr, count, transposed):
    results = jaxpr.in_avals[len(jaxpr.in_avals) - count :] if transposed else jaxpr.out_avals
    return [ad.tangent_aval(aval) for aval in results]


def _jvp(primals, tangents, **params):
    fixed = len(params["jaxpr"].in_avals)
    outs = tangent_map(primals, **params)
    results: list[Any] = [ad.Zero.from_primal(out) for out in outs]
    if any(type(t) is not ad.Zero for t in tangents[fixed:]):
        along = [ad.instantiate(t) for t in tangents[fixed:]]
        results = tangent_map([*primals[:fixed], *along], **params)
    nonzeros = [type(t) is not ad.Zero for t in tangents[:fixed]]
    if any(nonzeros):
        program, out_nonzeros = ad.jvp_jaxpr(
            _map_program(**params), [*nonzeros, *(False for _ in tangents[fixed:])]
        )
        fixed_tangents = [t for t in tangents[:fixed] if type(t) is not ad.Zero]
        pushed_outs = ir.eval_jaxpr(program, program.consts, *primals, *fixed_tangents)
        out_tangents = iter(pushed_outs[len(outs) :])
        moved = [
            next(out_tangents) if nonzero else zero
            for nonzero, zero in zip(out_nonzeros, map(ad.Zero.from_primal, outs), strict=True)
        ]
        results = list(map(ad.add_tangents, results, moved))
    return outs, results


def _linearize(tape: ad.Tape, primals, tangents, **params):
    with ir.set_trace(tape):
        return _jvp(primals, tangents, **params)


def _transpose(cts, *args, jaxpr, count, transposed):
    fixed = len(jaxpr.in_avals)
    if any(map(ad.is_undefined_primal, args[:fixed])):
        raise NotImplementedError(
            "tangent_map: the derivative of a function is linear in the tangent only; it cannot be "
            "transposed with respect to the primal."
        )
    results = tangent_map(
        [*args[:fixed], *map(ad.instantiate, cts)],
        jaxpr=jaxpr,
        count=count,
        transposed=not transposed,
    )
    pairs = zip(results, args[fixed:], strict=True)
    return [*(None,) * fixed, *(r if ad.is_undefined_primal(x) else None for r, x in pairs)]


def _batch(axis, args, dims, *, jaxpr, count, transposed):
    fixed = len(jaxpr.in_avals) - count

    def moved(xs: Sequence[Any], ds: Sequence[int | None]) -> list[Any]:
        return [batched_at(x, d, axis, 0) for x, d in zip(xs, ds, strict=True)]

    # The primal and the tangent are both batched: the linear map differs between examples.
    in_dims = [*dims[:fixed], *[0] * count]
    batched, _ = batch_jaxpr(jaxpr, axis, in_dims, [0] * len(jaxpr.outvars))
    outs = tangent_map(
        [*args[:fixed], *moved(args[fixed:], dims[fixed:])],
        jaxpr=batched,
        count=count,
        transposed=transposed,
    )
    return outs, [0] * len(outs)


def _lower(ctx: Lowering, *operands: Value, **params: Any) -> list[Value]:
    return ctx.inline(_map_program(**params), operands)


# Operands: the arguments of ``jaxpr``, of which the last ``count`` are the primals of the
# derivative; then their tangents, or with ``transposed`` the cotangents of the results.
tangent_map_p: ir.Primitive = ir.define(
    "tangent_map",
    abstract_eval=_abstract_eval,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    lower=_lower,
    program=lambda **params: (_map_program(**params), "tangent_map"),
    exempt=dict.fromkeys(discrete, "only inexact numbers have tangents"),
)
