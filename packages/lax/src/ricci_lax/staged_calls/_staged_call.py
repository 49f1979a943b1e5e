"""The staged call: the primitive behind ``jit``, which calls a jaxpr as one unit."""

from ricci_autodiff import (
    Zero,
    join_tangents,
    jvp_jaxpr,
    linearize_call,
    split_call,
    transpose_call,
)
from ricci_batching import batch_jaxpr
from ricci_ir import (
    Jaxpr,
    Primitive,
    by_program,
    define,
    discharge_as_call,
    donation,
    live_call,
    staged_call,
)
from ricci_stablehlo import Lowering, Value

__all__ = ["jit_p"]


def _jit_jvp(primals, tangents, *, jaxpr, name, donated_invars=()):
    nonzeros = [type(t) is not Zero for t in tangents]
    tangent_program, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros)
    nonzero_tangents = [t for t in tangents if type(t) is not Zero]
    pairs = zip(donated_invars, nonzeros, strict=False)
    donated = donation((*donated_invars, *(flag for flag, nonzero in pairs if nonzero)))
    outs = jit_p.bind(*primals, *nonzero_tangents, jaxpr=tangent_program, name=name, **donated)
    count = len(jaxpr.outvars)
    results, out_tangents = outs[:count], outs[count:]
    return results, join_tangents(out_nonzeros, out_tangents, results)


def _jit_transpose(ct, *args, jaxpr, name, donated_invars=()):
    def apply(program: Jaxpr, operands: list) -> list:
        return jit_p.bind(*operands, jaxpr=program, name=name)

    return transpose_call(ct, args, jaxpr, apply, typed=True)


def _jit_batch(axis, args, dims, *, jaxpr, **params):
    batched, out_dims = batch_jaxpr(jaxpr, axis, dims)
    return jit_p.bind(*args, jaxpr=batched, **params), out_dims


def _jit_lower(ctx: Lowering, *operands: Value, jaxpr, name, donated_invars=()):
    if jaxpr in staged_call.inlined:
        return ctx.inline(jaxpr, operands)
    return ctx.call(jaxpr, name, operands)


# Operands: the jaxpr's arguments. It has no constants: they were converted to arguments.
jit_p: Primitive = define(
    "jit",
    abstract_eval=lambda *avals, jaxpr, **_: jaxpr.out_avals,
    multiple_results=True,
    sharding=by_program,
    memo=False,
    effects=lambda params: params["jaxpr"].effects,
    jvp=_jit_jvp,
    linearize=linearize_call,
    split=split_call,
    transpose=_jit_transpose,
    batch=_jit_batch,
    lower=_jit_lower,
    program=lambda *, jaxpr, name, donated_invars=(): (jaxpr, name),
    dead_code=live_call,
    discharge=discharge_as_call,
)
staged_call.provide(jit_p)
