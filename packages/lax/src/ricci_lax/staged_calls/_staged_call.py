"""The staged call: the primitive behind ``jit``, which calls a jaxpr as one unit."""

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batch_jaxpr
from ricci_stablehlo import Lowering, Value

__all__ = ["jit_p"]


def _jit_jvp(primals, tangents, *, jaxpr, name, donated_invars=()):
    nonzeros = [type(t) is not ad.Zero for t in tangents]
    tangent_program, out_nonzeros = ad.jvp_jaxpr(jaxpr, nonzeros)
    nonzero_tangents = [t for t in tangents if type(t) is not ad.Zero]
    pairs = zip(donated_invars, nonzeros, strict=False)
    donated = ir.donation((*donated_invars, *(flag for flag, nonzero in pairs if nonzero)))
    outs = jit_p.bind(*primals, *nonzero_tangents, jaxpr=tangent_program, name=name, **donated)
    count = len(jaxpr.outvars)
    results, out_tangents = outs[:count], outs[count:]
    return results, ad.join_tangents(out_nonzeros, out_tangents, results)


def _jit_transpose(ct, *args, jaxpr, name, donated_invars=()):
    def apply(program: ir.Jaxpr, operands: list) -> list:
        return jit_p.bind(*operands, jaxpr=program, name=name)

    return ad.transpose_call(ct, args, jaxpr, apply, typed=True)


def _jit_batch(axis, args, dims, *, jaxpr, **params):
    batched, out_dims = batch_jaxpr(jaxpr, axis, dims)
    return jit_p.bind(*args, jaxpr=batched, **params), out_dims


def _jit_lower(ctx: Lowering, *operands: Value, jaxpr, name, donated_invars=()):
    if jaxpr in ir.staged_call.inlined:
        return ctx.inline(jaxpr, operands)
    return ctx.call(jaxpr, name, operands)


# Operands: the jaxpr's arguments. It has no constants: they were converted to arguments.
jit_p: ir.Primitive = ir.define(
    "jit",
    abstract_eval=lambda *avals, jaxpr, **_: jaxpr.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: params["jaxpr"].effects,
    jvp=_jit_jvp,
    linearize=ad.linearize_call,
    split=ad.split_call,
    transpose=_jit_transpose,
    batch=_jit_batch,
    lower=_jit_lower,
    program=lambda *, jaxpr, name, donated_invars=(): (jaxpr, name),
    dead_code=ir.live_call,
    discharge=ir.discharge_as_call,
)
ir.staged_call.provide(jit_p)
