"""The primitives of ``custom_vjp``: the call, its tangents, and the call without a jaxpr.

The tangents of a call are one linear operation of which only the transpose is known: the backward
rule.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_ir import JaxprEqn
from ricci_stablehlo import Lowering, Value

from ._backward_logs import Tapped, around, log_rules, run_with_logs, tap_rule, tapped_jaxpr
from ._derived_rules import BatchedRules, LiveRules, RecomputedRules, joint_batch
from ._eager_call import BatchedEagerCall, define_eager
from ._shared_rules import array_operand, discharge_custom, is_replayed, lower_inline
from ._vjp_rules import VJPFunction

__all__ = ["custom_vjp_call_p", "custom_vjp_tangent_p"]


def _dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> ir.LiveCall | None:
    if all(needed):
        return None
    # The rules are the user's, and take all operands.
    whole = params["call_jaxpr"]
    smaller = ir.live_program(whole, needed).jaxpr
    rules = LiveRules(params["fwd"], params["bwd"], needed, whole.out_avals)
    changed = {"bwd": rules.backward, "call_jaxpr": smaller, "fwd": rules.forward}
    return ir.LiveCall({**params, **changed}, (True,) * len(smaller.invars), needed)


def _linearize(tape: ad.Tape, primals, tangents, **params):
    call_jaxpr = params["call_jaxpr"]
    shared = _custom_of(params["fwd"]).is_shared
    if (
        shared
        and tape.parent is ir.eval_trace
        and not any(isinstance(x, ir.Tracer) for x in primals)
    ):
        # On concrete values a jaxpr of the call alone is linearized. It is cached on the function's
        # jaxpr, and its derivative on it.
        single = call_jaxpr.derived(
            ("single", params["name"]),
            lambda: ir.trace_to_jaxpr(
                lambda *xs: custom_vjp_call_p.bind(*xs, **params), call_jaxpr.in_avals
            ),
        )
        return ad.linearize_call(tape, primals, tangents, jaxpr=single, name=params["name"])
    return _pushed(tape.record, primals, tangents, **params)


def _jvp(primals, tangents, **params):
    if ir.context.trace is ir.eval_trace:
        raise _reverse_only(params["bwd"])
    return _pushed(_bind_tangent, primals, tangents, **params)


def _bind_tangent(
    primitive: ir.Primitive, operands: Sequence[Any], params: dict[str, Any]
) -> list[ir.Array]:
    return primitive.bind(*operands, **params)


def _pushed(record: Callable[..., Any], primals, tangents, *, bwd, fwd, symbolic_zeros, **_):
    """Run the forward rule; the tangents become one operation that has only a transpose."""
    # A recorded jaxpr has Python scalars as literals; the user's rule gets arrays, as in a direct
    # call.
    if is_replayed():
        primals = list(map(array_operand, primals))
    outs, residuals, tree = fwd(primals, [type(t) is not ad.Zero for t in tangents])
    out_avals = tuple(ad.tangent_aval(ir.get_aval(out)) for out in outs)
    recorded = record(
        custom_vjp_tangent_p,
        (*residuals, *(t for t in tangents if type(t) is not ad.Zero)),
        {
            "avals": tuple(ir.get_aval(x) for x in primals),
            "bwd": bwd,
            "in_zeros": tuple(type(t) is ad.Zero for t in tangents),
            "log_tree": None,
            "num_res": len(residuals),
            "out_avals": out_avals,
            "residual_tree": tree,
            "symbolic_zeros": symbolic_zeros,
        },
    )
    return outs, [
        ad.Zero(aval) if aval.dtype == ir.float0 else t  # pyright: ignore[reportAttributeAccessIssue]
        for aval, t in zip(out_avals, recorded, strict=True)
    ]


def _dims_of_rule(rules: BatchedRules, avals: Sequence[ir.ShapedArray]) -> Sequence[int | None]:
    """The batch dimensions of the forward rule's outputs, for operands of these types."""
    types: Sequence[Any] = avals

    def run(*args: ir.Array) -> list[Any]:
        rules.forward(args, [True] * len(args))
        return []

    ir.trace_to_jaxpr(run, types)
    assert rules.out_dims is not None
    return rules.out_dims


def _batch(axis, args, dims, *, bwd, call_jaxpr, fwd, name, symbolic_zeros):
    dims_of_rule = partial(_dims_of_rule, BatchedRules(fwd, bwd, axis, dims, None))
    batched, out_dims = joint_batch(_custom_of(fwd), call_jaxpr, axis, dims, dims_of_rule)
    rules = BatchedRules(fwd, bwd, axis, dims, out_dims)
    outs = custom_vjp_call_p.bind(
        *args,
        bwd=rules.backward,
        call_jaxpr=batched,
        fwd=rules.forward,
        name=name,
        symbolic_zeros=symbolic_zeros,
    )
    return outs, out_dims


_WRAPPED: tuple[type, ...] = (BatchedRules, LiveRules, RecomputedRules)


def with_values_of_functions(eqn: JaxprEqn) -> JaxprEqn:
    """A call whose forward rule returns only residuals if the user set ``optimize_remat``."""
    fwd = eqn.params["fwd"]
    rules = fwd.__self__
    if isinstance(rules, RecomputedRules) or not _custom_of(fwd).optimize_remat:
        return eqn
    recomputed = RecomputedRules(fwd, eqn.params["call_jaxpr"])
    return eqn.replace(params={**eqn.params, "fwd": recomputed.forward})


def _rule_name(rule: Any, kind: str) -> str:
    """The name of the user's rule, also where that is applied to batches."""
    rules: Any = rule.__self__
    if isinstance(rules, _WRAPPED):
        return _rule_name(rules.fwd if kind == "fwd" else rules.inner_bwd, kind)
    return getattr(getattr(rules.custom, kind), "__name__", kind)


def _custom_of(rule: Any) -> VJPFunction:
    """The function that a flat forward rule belongs to."""
    rules = rule.__self__
    through = isinstance(rules, _WRAPPED)
    return _custom_of(rules.fwd) if through else rules.custom


def _shown(*, bwd, fwd, **params):
    return {**params, "bwd": _rule_name(bwd, "bwd"), "fwd": _rule_name(fwd, "fwd")}


custom_vjp_call_p: ir.Primitive = ir.define(
    "custom_vjp_call",
    abstract_eval=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: params["call_jaxpr"].effects,
    jvp=_jvp,
    linearize=_linearize,
    split=ad.split_by_linearizing(_linearize),
    transpose=ir.unsupported("the function is not linear; its derivative rule is"),
    batch=_batch,
    lower=lower_inline,
    program=lambda *, call_jaxpr, name, **_: (call_jaxpr, name),
    discharge=discharge_custom,
    dead_code=_dead_code,
    shown=_shown,
)


def _tangent_transpose(cts, *args, avals, bwd, in_zeros, log_tree, num_res, residual_tree, **_):
    residuals, operands = args[:num_res], args[num_res:]
    run = lambda: bwd(residual_tree, residuals, cts, avals)
    logs: list[Any] = []
    if log_tree is None:
        results = run()
    else:
        results, logs, tree = run_with_logs(run)
        if tree != log_tree:
            raise TypeError(
                f"the rule {_rule_name(bwd, 'bwd')} returned logs of another structure than "
                f"before:\n  expected {log_tree}\n  got      {tree}"
            )
    nonzeros = [r for r, zero in zip(results, in_zeros, strict=True) if not zero] + logs
    return [
        *(None for _ in residuals),
        *(
            r if ad.is_undefined_primal(x) and type(r) is not ad.Zero else None
            for x, r in zip(operands, nonzeros, strict=True)
        ),
    ]


def _tap_rule(eqn: JaxprEqn) -> tuple[JaxprEqn, tuple[ad.LogTap, ...]]:
    params = eqn.params
    rules: Any = params["bwd"].__self__
    while isinstance(rules, _WRAPPED):
        rules = rules.inner_bwd.__self__
    if not rules.custom.has_logs:
        return eqn, ()
    cts = [aval for aval in params["out_avals"] if aval.dtype != ir.float0]
    return tap_rule(eqn, params["num_res"], cts, partial(_run_backward, params))


def _reverse_only(bwd: Any) -> TypeError:
    rules: Any = bwd.__self__
    wraps = isinstance(rules, BatchedRules | LiveRules)
    custom = _custom_of(rules.fwd) if wraps else rules.custom
    return TypeError(
        f"{custom.name} is a custom_vjp function, which has a rule for reverse mode only, "
        "and jvp asks for forward mode. Use reverse mode (grad, vjp, jacrev), or custom_jvp, "
        "whose rule serves both."
    )


def _tangent_batch(axis, args, dims, *, bwd, **_):
    raise _reverse_only(bwd)


def _tangent_lower(ctx: Lowering, *operands: Value, bwd, **_):
    raise _reverse_only(bwd)


def _tangent_program(*, bwd, **_):
    raise _reverse_only(bwd)


def _tangent_shown(*, bwd, in_zeros, num_res, symbolic_zeros, **_):
    return {
        "bwd": _rule_name(bwd, "bwd"),
        "in_zeros": list(in_zeros),
        "num_res": num_res,
        "symbolic_zeros": symbolic_zeros,
    }


# The tangents of a custom_vjp function: a linear operation of which only the transpose is known,
# the backward rule. Operands: the residuals, then the tangents.
custom_vjp_tangent_p: ir.Primitive = ir.define(
    "custom_lin",
    abstract_eval=lambda *avals, out_avals, **_: list(out_avals),
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    jvp=ir.unsupported("only the backward rule of a custom_vjp function is known"),
    transpose=_tangent_transpose,
    transposes_zeros=True,
    batch=_tangent_batch,
    lower=_tangent_lower,
    program=_tangent_program,
    shown=_tangent_shown,
    logs=_tap_rule,
)


def _tapped(eqn: JaxprEqn) -> tuple[JaxprEqn, tuple[ad.LogTap, ...]]:
    """Add operands for logs to an equation, and to the jaxprs in it."""
    params = eqn.params
    if eqn.primitive in log_rules:
        return log_rules[eqn.primitive](eqn)
    inner = list(ir.jaxprs_in_params(params)) if params else []
    tapped: list[Tapped] = [tapped_jaxpr(jaxpr, _tapped) for jaxpr in inner]
    if not any(t.taps for t in tapped):
        return eqn, ()
    name = eqn.primitive.name
    if name not in ("jit", "scan", "remat2"):
        raise NotImplementedError(
            f"with_logs: a rule that returns logs is used inside of {name}. Logs pass through jit, "
            "scan, fori_loop, checkpoint and vmap: call the function outside of the others."
        )
    taps = tuple(around(tap, params.get("length")) for tap in tapped[0].taps)
    variables = [var for tap in taps for var in tap.variables]
    changed = {**params, "jaxpr": tapped[0].jaxpr}
    if "donated_invars" in params:
        changed["donated_invars"] = (*params["donated_invars"], *(False,) * len(variables))
    return eqn.replace(invars=[*eqn.invars, *variables], params=changed), taps


def _run_backward(
    params: dict[str, Any], residuals: Sequence[ir.Array], cts: Sequence[ir.Array]
) -> None:
    """Run the backward rule of an operation, given the cotangents that are not zero by type."""
    arrays = iter(cts)
    every = [ad.Zero(a) if a.dtype == ir.float0 else next(arrays) for a in params["out_avals"]]
    params["bwd"](params["residual_tree"], residuals, every, params["avals"])


@ad.tap_logs.provide
def _tap_equations(eqns: Sequence[JaxprEqn]) -> tuple[Sequence[JaxprEqn], Sequence[ad.LogTap]]:
    pairs = [_tapped(eqn) for eqn in eqns]
    return [eqn for eqn, _ in pairs], [tap for _, taps in pairs for tap in taps]


def _open_linearize(tape: ad.Tape, primals, tangents, *, call, **params):
    return _pushed(tape.record, primals, tangents, **params)


def _open_batch(axis, args, dims, *, bwd, call, fwd, symbolic_zeros):
    batched = BatchedEagerCall(call, axis, dims)
    rules = BatchedRules(fwd, bwd, axis, dims, None, batched)
    outs = custom_vjp_open_p.bind(
        *args, bwd=rules.backward, call=batched, fwd=rules.forward, symbolic_zeros=symbolic_zeros
    )
    return outs, batched.out_dims


# An eager call of a user's function, where no jaxpr is recorded.
custom_vjp_open_p: ir.Primitive = define_eager(
    "custom_vjp_open_call",
    jvp=lambda primals, tangents, *, call, **params: _jvp(primals, tangents, **params),
    linearize=_open_linearize,
    split=ad.split_by_linearizing(_open_linearize),
    batch=_open_batch,
)
