"""``checkpoint``: recompute residuals in the backward pass instead of storing them."""

import logging
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batch_jaxpr
from ricci_lax.checkpoint_policies import (
    Policy,
    SaveFromBothPolicies,
    SaveInPlace,
    nothing_saveable,
)
from ricci_lax.control_flow._bodies import leaf_avals, trace_body
from ricci_lax.control_flow._remat_policy import remat_plan
from ricci_lax.custom._vjp_primitives import custom_vjp_call_p, with_values_of_functions
from ricci_lax.derivatives._recomputation_rules import with_recomputations
from ricci_lax.effects._tokens import io_effects
from ricci_lax.staged_calls._by_operation import evaluated_by_operation
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure._identity import lower_barrier, optimization_barrier_p
from ricci_lax.structure._names import KeptName, name_p, substitute_p
from ricci_pytree import argument_paths, read_signature, tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value, thread_tokens, tokens_at

__all__ = ["checkpoint", "remat_p"]


class Recomputing(ir.TupleRecord):
    """The derivative of a jaxpr that stores few residuals and recomputes the others.

    Attributes:
      forward: from the arguments to the results, followed by the stored residuals.
      tangent: from some of the arguments, the stored residuals and the nonzero tangents, to the
        tangents of the results that are not zero. It begins with the recomputation.
      used: which arguments ``tangent`` takes.
      nonzeros: for each result, whether it has a tangent.
    """

    forward: ir.Jaxpr
    tangent: ir.Jaxpr
    used: tuple[int, ...]
    nonzeros: tuple[bool, ...]


def _recomputing(jaxpr: ir.Jaxpr, nonzeros: tuple[bool, ...], policy: Policy | None) -> Recomputing:
    """Linearize a jaxpr, and move the computation of residuals into the tangent jaxpr.

    The tangent jaxpr repeats the forward equations that its residuals depend on, from the arguments
    and from the values that the policy saves; of these, only those that it reads are stored.
    """
    if jaxpr.effects & io_effects:
        raise NotImplementedError(
            "checkpoint cannot be differentiated with io_callback inside: it would be called again "
            "in the backward pass.\nCall it outside, or use pure_callback or debug.callback, which "
            "may be called twice."
        )
    ir.remat_allowed_effects.require("checkpoint, differentiated", jaxpr.effects)
    # Branches share the slots of residuals, so dead code must be removed before linearizing.
    live = with_recomputations(_with_recomputed_vjps(ir.live_program(jaxpr).jaxpr), policy)
    whole = live if policy is None else _also_saving(inlined(live), policy)
    linearized = ad.linearize_jaxpr(whole, nonzeros)
    # Some names are stored under any policy, and some values are substituted. A policy that saves
    # nothing else looks at each value.
    if policy is None and _has_rules_of_saving(linearized.forward):
        return _recomputing(jaxpr, nonzeros, nothing_saveable)
    forward, tangent = linearized.forward, linearized.tangent
    residuals = tangent.invars[: len(linearized.residuals)]
    # The second pass computes the residuals, from the arguments and the values that the policy
    # saves.
    plan = remat_plan(forward, policy, residuals)
    read = plan.reads(residuals)
    used = tuple(i for i, v in enumerate(forward.invars) if v in read)
    outvars = [*forward.outvars[: len(jaxpr.outvars)], *plan.saved]
    first = ad.program(forward, forward.invars, ir.live_equations(plan.first, outvars), outvars)
    return Recomputing(
        _after_moves(first, len(jaxpr.outvars), plan.awaited),
        ir.Jaxpr(
            [*forward.constvars, *tangent.constvars],
            [*(forward.invars[i] for i in used), *plan.saved, *tangent.invars[len(residuals) :]],
            tangent.outvars,
            [*plan.again, *tangent.eqns],
            ir.join_effects(eqn.effects for eqn in (*plan.again, *tangent.eqns)),
            debug_info=jaxpr.debug_info,
            consts=[*forward.consts, *tangent.consts],
        ),
        used,
        linearized.nonzeros,
    )


def _after_moves(first: ir.Jaxpr, count: int, awaited: Collection[ir.Var]) -> ir.Jaxpr:
    """Let the results of a forward pass wait for moves to another memory.

    Args:
      first: the forward pass.
      count: the number of results; those behind them are saved.
      awaited: the saved ones that are moved.
    """
    results = [atom for atom in first.outvars[:count] if type(atom) is ir.Var]
    if not awaited or not results:
        return first
    barred = {var: ir.Var(var.aval) for var in [*results, *awaited]}
    barrier = ir.JaxprEqn([*barred], [*barred.values()], optimization_barrier_p, {})
    outvars = [barred.get(x, x) if isinstance(x, ir.Var) else x for x in first.outvars]
    return first.replace(eqns=[*first.eqns, barrier], outvars=outvars)


def _with_recomputed_vjps(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Replace the forward rules of ``custom_vjp`` functions with ``optimize_remat``."""
    return jaxpr.derived("recomputed vjps", lambda: _recompute_vjps(jaxpr)) or jaxpr


def _recompute_vjps(jaxpr: ir.Jaxpr) -> ir.Jaxpr | None:
    """The changed jaxpr; ``None`` if there are no such functions."""
    eqns = []
    for eqn in jaxpr.eqns:
        params = {name: _in_programs(value) for name, value in eqn.params.items()}
        if any(params[name] is not value for name, value in eqn.params.items()):
            eqn = eqn.replace(params=params)
        eqns.append(with_values_of_functions(eqn) if eqn.primitive is custom_vjp_call_p else eqn)
    changed = any(new is not old for new, old in zip(eqns, jaxpr.eqns, strict=True))
    return jaxpr.replace(eqns=eqns) if changed else None


def _in_programs(value: object) -> object:
    if isinstance(value, ir.Jaxpr):
        return _with_recomputed_vjps(value)
    if type(value) is tuple and value and all(isinstance(item, ir.Jaxpr) for item in value):
        changed = tuple(map(_with_recomputed_vjps, value))
        return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value
    return value


def _has_rules_of_saving(jaxpr: ir.Jaxpr) -> bool:
    """Whether a jaxpr has values that are stored or substituted under any policy."""
    return jaxpr.derived(
        "rules of saving",
        lambda: any(
            eqn.primitive is substitute_p
            or type(eqn.params.get("name")) is KeptName
            or any(map(_has_rules_of_saving, ir.jaxprs_in_params(eqn.params)))
            for eqn in jaxpr.eqns
        ),
    )


def _also_saving(jaxpr: ir.Jaxpr, policy: Policy) -> ir.Jaxpr:
    """The jaxpr whose inner checkpoints also save the values that an outer policy saves.

    The outer one stores these values, so that the inner ones need not compute them again.
    """
    return jaxpr.derived(("also saving", policy), lambda: _with_policy(jaxpr, policy)) or jaxpr


def _with_policy(jaxpr: ir.Jaxpr, policy: Policy) -> ir.Jaxpr | None:
    """The jaxpr with another policy in its inner checkpoints; ``None`` if it has none."""
    eqns = []
    for eqn in jaxpr.eqns:
        params = {name: _each(value, policy) for name, value in eqn.params.items()}
        if eqn.primitive is remat_p:
            inner = eqn.params["policy"]
            outer = SaveInPlace(policy)
            params["policy"] = outer if inner is None else SaveFromBothPolicies(outer, inner)
        same = all(params[name] is value for name, value in eqn.params.items())
        eqns.append(eqn if same else eqn.replace(params=params))
    return None if eqns == jaxpr.eqns else jaxpr.replace(eqns=eqns)


def _each(value: object, policy: Policy) -> object:
    """A parameter whose jaxprs save the values that a policy saves."""
    if isinstance(value, ir.Jaxpr):
        return _also_saving(value, policy)
    if type(value) is tuple and value and all(isinstance(item, ir.Jaxpr) for item in value):
        changed = tuple(_also_saving(item, policy) for item in value)
        return value if changed == value else changed
    return value


def _apply(operands: Sequence[Any], *, jaxpr: ir.Jaxpr, **params: object) -> Sequence[ir.Array]:
    """Apply the primitive; in the first calls of a jaxpr its operations, each by itself."""
    jaxpr, operands = _closed(jaxpr, operands)
    outs = evaluated_by_operation(jaxpr, operands)
    return remat_p.bind(*operands, jaxpr=jaxpr, **params) if outs is None else outs


def _closed(jaxpr: ir.Jaxpr, operands: Sequence[Any]) -> tuple[ir.Jaxpr, Sequence[Any]]:
    """Make operands of the traced arrays that a jaxpr has as constants.

    A custom derivative rule that is defined inside of a traced function may read its arrays.
    """
    if any(isinstance(x, ir.Tracer) for x in jaxpr.consts):
        return ir.convert_constvars(jaxpr), (*jaxpr.consts, *operands)
    return jaxpr, operands


def _linearize(tape, primals, tangents, *, jaxpr, policy, **params):
    nonzeros = tuple(type(t) is not ad.Zero for t in tangents)
    plan = jaxpr.derived(
        ("recomputing", nonzeros, policy), lambda: _recomputing(jaxpr, nonzeros, policy)
    )
    if ir.log_checkpoint_residuals.value:
        _log_saved(primals, plan)
    if tape.parent is ir.eval_trace:
        with ir.set_trace(ir.eval_trace):
            outs = evaluated_by_operation(plan.forward, primals)
            if outs is None:
                outs = ir.staged_call.bind(plan.forward, "checkpoint", primals)
    else:
        outs = ir.eval_jaxpr(plan.forward, plan.forward.consts, *primals)
    count = len(plan.nonzeros)
    results, saved = outs[:count], outs[count:]
    recorded = ()
    if any(plan.nonzeros):
        nonzero_tangents = [t for t in tangents if type(t) is not ad.Zero]
        operands = (*(primals[i] for i in plan.used), *saved, *nonzero_tangents)
        tangent, operands = _closed(plan.tangent, operands)
        recorded = tape.record(
            remat_p,
            tuple(operands),
            {"jaxpr": tangent, "policy": policy, **params, "differentiated": True},
        )
    return results, ad.join_tangents(plan.nonzeros, recorded, results)


def _jvp(primals, tangents, *, jaxpr, **params):
    pushed, nonzeros = ad.jvp_jaxpr(jaxpr, [type(t) is not ad.Zero for t in tangents])
    nonzero_tangents = [t for t in tangents if type(t) is not ad.Zero]
    outs = _apply((*primals, *nonzero_tangents), jaxpr=pushed, **params)
    results, out_tangents = outs[: len(nonzeros)], outs[len(nonzeros) :]
    return results, ad.join_tangents(nonzeros, out_tangents, results)


def _jet(push, primals, series, *, jaxpr, **params):
    bind = partial(remat_p.bind, **params)
    return ad.call_on_series(bind, push, primals, series, jaxpr)


def _transpose(cts, *args, jaxpr, **params):
    apply = lambda program, operands: _apply(operands, jaxpr=program, **params)
    return ad.transpose_call(cts, args, jaxpr, apply)


def _batch(axis, args, dims, *, jaxpr, **params):
    batched, out_dims = batch_jaxpr(jaxpr, axis, dims)
    return _apply(args, jaxpr=batched, **params), out_dims


def _lower(ctx: Lowering, *operands: Value, jaxpr, prevent_cse, differentiated, **params):
    values: Sequence[Value] = operands
    if differentiated and prevent_cse and operands:
        # Without a barrier the compiler would see that this is computed twice, and store it.
        values = lower_barrier(ctx, *operands)
    return ctx.inline(jaxpr, values)


# Operands: the jaxpr's constants, then its arguments.
remat_p: ir.Primitive = ir.define(
    "remat2",
    abstract_eval=lambda *avals, jaxpr, **_: jaxpr.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: params["jaxpr"].effects,
    jvp=_jvp,
    jet=ad.at_once(_jet),
    linearize=_linearize,
    split=ad.split_by_linearizing(_linearize),
    transpose=_transpose,
    batch=_batch,
    lower=_lower,
    program=lambda *, jaxpr, **_: (jaxpr, "checkpoint"),
    discharge=ir.discharge_as_call,
    dead_code=ir.live_call,
    order=tokens_at(0, jaxpr=lambda eqn, effects: thread_tokens(eqn.params["jaxpr"], effects)),
)


def checkpoint[**P, R](
    fun: Callable[P, R],
    concrete: bool = False,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[P, R]:
    """Differentiate a function with less memory: the backward pass recomputes its residuals.

    Reverse mode stores the residuals that the backward pass needs of each operation. For a function
    wrapped here only its arguments are stored, and those residuals that ``policy`` allows.

    Args:
      fun: a function of pytrees of arrays.
      concrete: ``fun`` may use the values of its arguments in Python control flow; then nothing is
        recomputed.
      prevent_cse: prevent the compiler from merging the recomputation with the first computation,
        which would store its results after all; not needed inside of ``scan``.
      policy: which results of operations may be stored, one of ``checkpoint_policies``, or a
        function of a primitive, the types of its operands, and its parameters.
      static_argnums, static_argnames: arguments that are passed as they are; where they can be
        hashed, equal ones share a trace.

    Returns:
      A function with the same arguments, results and derivatives.

    Example:
      What the backward pass of a layer keeps: without ``checkpoint``, with it, and with a policy
      that keeps the results of matrix products.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def layer(w, x):
      ...     return jnp.sin(jnp.sin(jnp.dot(x, w)))
      >>> w, x = jnp.ones((4, 4)), jnp.ones((8, 4))
      >>> keep_dots = ricci.checkpoint_policies.dots_saveable
      >>> kept = ricci.ad_checkpoint.print_saved_residuals
      >>> kept(layer, w, x)
      f32[4,4] from the argument w
      f32[8,4] from the argument x
      f32[8,4] output of cos from ...
      f32[8,4] output of cos from ...
      >>> kept(ricci.checkpoint(layer), w, x)
      f32[4,4] from the argument w
      f32[8,4] from the argument x
      >>> kept(ricci.checkpoint(layer, policy=keep_dots), w, x)
      f32[4,4] from the argument w
      f32[8,4] from the argument x
      f32[8,4] output of dot_general from ...

    Notes:
      In a ``scan`` over layers wrap the body: ``scan(checkpoint(step, prevent_cse=False), ...)``.
      Around a whole network ``checkpoint`` saves no memory: its backward pass has all residuals at
      once, when it has recomputed them.

      The second computation costs time, at most as much as the first.

    See also:
      ``checkpoint_policies``; ``checkpoint_name`` names the values that a policy saves;
      ``print_saved_residuals`` and ``memory_plan`` show the saved values.
    """
    if policy is not None and not callable(policy):
        raise TypeError(
            f"checkpoint: policy must be a function, such as one of checkpoint_policies, got "
            f"{policy!r}."
            + (f" Write policy=checkpoint_policies.{policy}." if isinstance(policy, str) else "")
        )
    if concrete:
        return fun
    ir.resolve_argnums(fun, "static", static_argnums)  # raises for a position out of range
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if names:
        signature = read_signature(fun)
        order = [] if signature is None else list(signature.parameters)
        numbers = (*numbers, *(order.index(name) for name in names if name in order))
    barrier = prevent_cse if isinstance(prevent_cse, bool) else any(prevent_cse)
    # A bound method is another object at each access; its wrappers have traces of their own.
    own_calls: dict[Any, Callable[..., Any]] = {}

    @ir.looks_like(fun)
    @ir.api_boundary
    def remat_fun(*args: P.args, **kwargs: P.kwargs) -> R:
        places = {n % len(args) for n in numbers if -len(args) <= n < len(args)}
        static = tuple((i, args[i]) for i in sorted(places))
        fixed = tuple((k, kwargs[k]) for k in sorted(kwargs) if k in names)
        dynamic = tuple(None if i in places else x for i, x in enumerate(args))
        options = {k: v for k, v in kwargs.items() if k not in names}
        calls = _calls_of(fun) if isinstance(fun, FunctionType) else own_calls
        try:
            call = calls.get((static, fixed))
            if call is None:
                call = calls[static, fixed] = _with_static(fun, dict(static), dict(fixed))
        except TypeError:  # an unhashable static argument: traced again
            call = _with_static(fun, dict(static), dict(fixed))
        leaves, tree = tree_flatten(ir.parted((dynamic, options)))
        paths = lambda: argument_paths(dynamic, options, fun)
        avals = leaf_avals("checkpoint", paths, leaves)
        body = trace_body("checkpoint", call, tree, avals, allowed=None)
        operands = [*body.consts, *leaves]
        outs = _apply(
            operands, jaxpr=body.jaxpr, policy=policy, prevent_cse=barrier, differentiated=False
        )
        return tree_unflatten(body.out_tree, outs)

    return remat_fun


if not TYPE_CHECKING:  # it would lose the parameters of types
    checkpoint = ir.api_boundary(checkpoint)


# For each choice of static arguments of a function, the function of the others, by which traces are
# cached. It refers to the user's function weakly, as the table must not keep that alive.
_calls: ir.ByFunction[dict[Any, Callable[..., Any]]] = ir.ByFunction(dict)


def _calls_of(fun: Callable) -> dict[Any, Callable[..., Any]]:
    """The calls of a function, which all its wrappers share.

    The wrappers find them by this function, since they may be pickled by value, and those not.
    """
    return _calls.of(fun)


def _with_static(
    fun: Callable, static: dict[int, Any], fixed: dict[str, Any]
) -> Callable[..., Any]:
    reference = weakref.ref(fun) if isinstance(fun, FunctionType) else lambda: fun

    @ir.looks_like(fun)
    def call(args: tuple, options: dict) -> ir.PyTree:
        user_function: Any = reference()
        return user_function(*(static.get(i, x) for i, x in enumerate(args)), **options, **fixed)

    del call.__wrapped__  # a strong reference
    return call


def described(eqn: ir.JaxprEqn) -> str:
    """The origin of an operation's result, for lists of residuals."""
    name = eqn.params.get("name")
    if eqn.primitive is name_p:
        return f"named {name!r} from {eqn.source}"
    what = f"jitted function {name!r}" if isinstance(name, str) else eqn.primitive.name
    return f"output of {what} from {eqn.source}"


# Logging

_logger = logging.getLogger("ricci.checkpoint")


def _log_saved(operands: Sequence[Any], plan: Recomputing) -> None:
    """Log the residuals that a call saves for the backward pass."""
    lines = ["checkpoint: a function saves its inputs, of the types"]
    lines += [f"  {ir.get_aval(operands[i]).str_short()}" for i in plan.used]
    count = len(plan.nonzeros)
    if len(plan.forward.outvars) > count:
        lines.append("and these values that its policy saves:")
        makers = {id(v): eqn for eqn in plan.forward.eqns for v in eqn.outvars}
        for var in plan.forward.outvars[count:]:
            origin = described(makers[id(var)]) if id(var) in makers else "an argument"
            lines.append(f"  {var.aval.str_short()} from {origin}")
    _logger.warning("%s", "\n".join(lines))
