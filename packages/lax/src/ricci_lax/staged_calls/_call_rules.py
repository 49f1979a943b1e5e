"""The rules of primitives that call a jaxpr, one of their parameters."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as ad
from ricci_batching import batch_jaxpr
from ricci_ir import Primitive

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
        batched, out_dims = batch_jaxpr(params[parameter], axis, dims)
        return call(args, batched, params), out_dims

    return {
        "jvp": jvp,
        "linearize": linearize,
        "split": ad.split_by_linearizing(linearize),
        "transpose": transpose,
        "batch": batch,
    }
