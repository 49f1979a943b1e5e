"""Primitives that call a jaxpr: their rules, the staged call behind ``jit``, and inlining."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_batching as batching
import ricci_ir as ir
from ricci_ir import Primitive
from ricci_stablehlo import Lowering, Value

__all__ = ["jit_p"]


def _jit_jvp(primals, tangents, *, jaxpr, name, donated_invars=()):
    nonzeros = [type(t) is not ad.Zero for t in tangents]
    tangent_program, out_nonzeros = ad.jvp_jaxpr(jaxpr, nonzeros)
    nonzero_tangents = [t for t in tangents if type(t) is not ad.Zero]
    # The tangent of a donated argument is donated with it.
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
    batched, out_dims = batching.batch_jaxpr(jaxpr, axis, dims)
    lower = ir.staged_call.lowerings.get(jaxpr)
    if lower is not None and hasattr(lower, "operation"):
        ir.staged_call.lowerings[batched] = lower
    return jit_p.bind(*args, jaxpr=batched, **params), out_dims


def _jit_lower(ctx: Lowering, *operands: Value, jaxpr, name, donated_invars=()):
    lower = ir.staged_call.lowerings.get(jaxpr)
    if lower is not None:
        results = lower(ctx, *operands)
        if results is not None:
            return results
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


def inlined(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Inline the staged calls of a jaxpr; cached on it.

    The equations keep their source locations in the user's code.
    """
    if not any(map(_is_call, jaxpr.eqns)):
        return jaxpr
    return jaxpr.derived(
        "inlined",
        lambda: ir.trace_to_jaxpr(lambda *xs: _run(jaxpr, xs), jaxpr.in_avals, jaxpr.debug_info),
    )


def _is_call(eqn: ir.JaxprEqn) -> bool:
    return eqn.primitive is ir.staged_call.call


def _run(jaxpr: ir.Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr in the current trace, inlining its staged calls."""
    apply = lambda eqn, operands: _run(eqn.params["jaxpr"], operands) if _is_call(eqn) else None
    return ir.interpret(jaxpr, args, apply)


type Params = dict[str, Any]


def call_rules(
    primitive: Callable[[], Primitive], parameter: str, derived: Callable[[Params], Params] = dict
) -> dict[str, Any]:
    """The rules of a call primitive: calls derived from a call bind the same primitive.

    Args:
      primitive: returns the primitive, whose operands are the jaxpr's arguments.
      parameter: the name of the parameter that is the jaxpr.
      derived: returns the parameters of the call that computes only tangents or cotangents, for
        those of the call that is differentiated.
    """

    def call(operands: Sequence[Any], jaxpr: Any, params: Params) -> Any:
        return primitive().bind(*operands, **{**params, parameter: jaxpr})

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        pushed, nonzeros = ad.jvp_jaxpr(
            params[parameter], [type(t) is not ad.Zero for t in tangents]
        )
        nonzero_tangents = [t for t in tangents if type(t) is not ad.Zero]
        outs = call((*primals, *nonzero_tangents), pushed, params)
        results, out_tangents = outs[: len(nonzeros)], outs[len(nonzeros) :]
        return results, ad.join_tangents(nonzeros, out_tangents, results)

    def linearize(tape: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        jaxpr = params[parameter]
        plan = ad.linearize_jaxpr(jaxpr, tuple(type(t) is not ad.Zero for t in tangents))
        outputs = call(primals, plan.forward, params)
        results = outputs[: len(jaxpr.outvars)]
        values = (*primals, *outputs)
        residuals = [values[i] for i in plan.residuals]
        recorded: Any = ()
        if plan.tangent.outvars or plan.tangent.effects:
            nonzero_tangents = [t for t in tangents if type(t) is not ad.Zero]
            more = {**derived(params), parameter: plan.tangent}
            recorded = tape.record(primitive(), (*residuals, *nonzero_tangents), more)
        return results, ad.join_tangents(plan.nonzeros, recorded, results)

    def transpose(cts: Sequence[Any], *args: Any, **params: Any) -> Any:
        apply = lambda program, operands: call(operands, program, params)
        return ad.transpose_call(cts, args, params[parameter], apply)

    def batch(axis: Any, args: Sequence[Any], dims: Any, **params: Any) -> Any:
        batched, out_dims = batching.batch_jaxpr(params[parameter], axis, dims)
        return call(args, batched, params), out_dims

    return {
        "jvp": jvp,
        "linearize": linearize,
        "split": ad.split_by_linearizing(linearize),
        "transpose": transpose,
        "batch": batch,
    }
