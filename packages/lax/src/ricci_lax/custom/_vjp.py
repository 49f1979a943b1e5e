"""``custom_vjp``: functions with a custom reverse-mode derivative rule, and their primitives."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_ir import JaxprEqn, PyTree, Tracer, UnexpectedTracerError, api_boundary, check_distinct
from ricci_pytree import tree_leaves
from ricci_stablehlo import Lowering, Value

from ._backward_logs import (
    Tapped,
    around,
    log_rules,
    run_with_logs,
    tap_rule,
    tapped_jaxpr,
    without_logs,
)
from ._call import (
    BatchedEagerCall,
    Call,
    CustomFunction,
    EagerCall,
    array_operand,
    define_eager,
    discharge_custom,
    is_ours,
    is_replayed,
    lower_inline,
)
from ._derived_rules import BatchedRules, LiveRules, RecomputedRules, joint_batch, recomputable
from ._vjp_rules import Rules, VJPFunction

__all__ = ["custom_vjp", "custom_vjp_call_p", "custom_vjp_tangent_p"]


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
    batched, out_dims = joint_batch(call_jaxpr, axis, dims, dims_of_rule)
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


class custom_vjp[**P, R](CustomFunction[P, R]):
    """A function whose vjp is specified rather than derived.

    The function is then differentiated in reverse mode alone. Without differentiation ``fun`` runs
    as it is.

    Args:
      fun: a function of pytrees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated: the backward rule gets
        them first, as they are.
      nondiff_argnames: the same by name.

    Example:
      The identity, whose gradient is clipped on its way back. The limit is an argument that is not
      differentiated.

      >>> from functools import partial
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @partial(ricci.custom_vjp, nondiff_argnums=(0,))
      ... def clip_gradient(limit, x):
      ...     return x
      >>> def forward(limit, x):
      ...     return x, None  # the value, and no residuals
      >>> def backward(limit, residuals, ct):
      ...     return (jnp.clip(ct, -limit, limit),)
      >>> clip_gradient.defvjp(forward, backward)
      >>> loss = lambda x: jnp.sum(clip_gradient(1.0, x) ** 2)
      >>> ricci.grad(loss)(jnp.array([0.25, 5.0, -5.0])).tolist()
      [0.5, 1.0, -1.0]

    Notes:
      The forward rule has the signature of ``fun``; the backward rule gets the arguments at
      ``nondiff_argnums`` first, then the residuals and the cotangent, and returns a tuple with one
      cotangent for each other argument, also if there is only one.

      Residuals are arrays: a shape or a string that the backward rule needs is a
      ``nondiff_argnums`` argument. A traced array may not be one: pass it as an ordinary
      argument, with ``None`` for its cotangent.

    See also:
      ``custom_jvp``, which serves both modes; ``custom_gradient``, for a rule that is a closure;
      ``closure_convert``.
    """

    if TYPE_CHECKING:
        # For pyright, to which partial(custom_vjp, ...) is a decorator of unknown type without it.
        def __new__[**Q, T](
            cls,
            fun: Callable[Q, T],
            nondiff_argnums: Sequence[int] = (),
            nondiff_argnames: Iterable[str] = (),
        ) -> "custom_vjp[Q, T]": ...

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Iterable[str] = (),
    ):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., tuple[Any, Any]] | None = None
        self.bwd: Callable[..., tuple[Any, ...]] | None = None
        self.symbolic_zeros: bool = False
        self.optimize_remat: bool = False
        self.takes_accums: bool = False
        self.has_logs: bool = False

    def defvjp(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[Any, ...]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rules.

        Args:
          fwd: takes the function's arguments, returns ``(output, residuals)``.
          bwd: ``bwd(*nondiff_args, residuals, ct)`` returns a tuple with a cotangent for each
            differentiable argument; ``None`` is zero.
          symbolic_zeros: ``fwd`` gets ``CustomVJPPrimal`` and ``bwd`` ``SymbolicZero``.
          optimize_remat: whether the forward pass of a ``checkpoint`` runs the function itself in
            place of ``fwd``, whose residuals it does not store; its value is then that of the
            function, in case ``fwd`` computes another.
          generic_batching: no effect; rules are always called with the arrays of one example.
        """
        self._define(fwd, bwd, symbolic_zeros, optimize_remat)

    def _define(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        *further: Callable[..., Any],
        takes_accums: bool = False,
        has_logs: bool = False,
    ) -> None:
        """Set the rules, of which those in ``further`` are called by the others."""
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat
        self.takes_accums = takes_accums
        self.has_logs = has_logs
        self.is_shared: bool = is_ours(self.fun, fwd, bwd, *further)

    def defvjp_with_logs(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[tuple[Any, ...], dict[str, Any] | None]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, as ``defvjp`` does; the backward rule returns a log as well.

        Args:
          bwd: returns a pair of the tuple of cotangents and a dict (or ``None``) of entries for a
            log of the backward pass, which ``pullback.with_logs`` returns.
          fwd, symbolic_zeros, optimize_remat, generic_batching: see ``defvjp``.
        """
        rule = self._without_logs(bwd)
        self._define(fwd, rule, symbolic_zeros, optimize_remat, has_logs=True)

    def _without_logs(self, bwd: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(bwd)
        def cotangents(*args: object) -> PyTree:
            return without_logs(self.name, bwd(*args))

        return cotangents

    def defvjp_with_accums(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., dict[str, Any] | None],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, as ``defvjp`` does; the backward rule adds cotangents to accumulators.

        Args:
          bwd: ``bwd(*nondiff_args, residuals, ct, *accums)`` gets for each differentiable argument
            a pytree of its structure, whose leaves are accumulators. Each ``accum(x)`` of such a
            leaf adds a term to the cotangent, which is zero without one. The leaves of what is not
            differentiated are ``custom_derivatives.NullAccum``, whose terms are dropped. Returns
            ``None`` or a log, a dict.
          fwd, symbolic_zeros, optimize_remat, generic_batching: see ``defvjp``.

        Example:
          >>> import ricci
          >>> product = ricci.custom_vjp(lambda x, y: x * y)
          >>> def backward(residuals, ct, x_accum, y_accum):
          ...     x, y = residuals
          ...     x_accum.accum(ct * y)
          ...     y_accum.accum(ct * x)
          >>> product.defvjp_with_accums(lambda x, y: (x * y, (x, y)), backward)
          >>> [float(ct) for ct in ricci.grad(product, (0, 1))(2.0, 3.0)]
          [3.0, 2.0]
        """
        self._define(fwd, bwd, symbolic_zeros, optimize_remat, takes_accums=True, has_logs=True)

    def defremat(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        rem: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[Any, ...]],
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, with one that computes the residuals from values that ``fwd`` saves.

        Inside of ``checkpoint`` the forward pass calls ``fwd`` and stores the saved values, under
        any policy; the backward pass calls ``rem``. Outside of it the forward pass calls both.

        Args:
          fwd: takes the function's arguments, returns ``(output, saved)``.
          rem: ``rem(saved, *args)`` returns ``(output, residuals)``. The output has the structure
            and types of the function's, which it replaces in the backward pass of ``checkpoint``.
          bwd: takes the residuals of ``rem``; see ``defvjp``.
          generic_batching: see ``defvjp``.

        Example:
          The exponential is stored, the sine and the cosine are computed again:

          >>> import ricci
          >>> import ricci.numpy as jnp
          >>> @ricci.custom_vjp
          ... def wave(x):
          ...     return jnp.sin(jnp.exp(x))
          >>> def forward(x):
          ...     angle = jnp.exp(x)
          ...     return jnp.sin(angle), angle
          >>> def again(angle, x):
          ...     return jnp.sin(angle), jnp.cos(angle) * angle
          >>> wave.defremat(forward, again, lambda slope, ct: (ct * slope,))
          >>> f = ricci.checkpoint(lambda x: jnp.square(wave(x)))
          >>> round(float(ricci.grad(f)(0.0)), 4)
          0.9093
          >>> ricci.ad_checkpoint.print_saved_residuals(f, 0.0)
          f32[] named 'saved by defremat' from ...
        """
        self._define(recomputable(self.name, fwd, rem), bwd, False, False, rem)

    def defremat_with_logs(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        rem: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[tuple[Any, ...], dict[str, Any] | None]],
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, as ``defremat`` does; the backward rule returns a log as well.

        Args:
          bwd: see ``defvjp_with_logs``.
          fwd, rem, generic_batching: see ``defremat``.
        """
        forward = recomputable(self.name, fwd, rem)
        self._define(forward, self._without_logs(bwd), False, False, rem, has_logs=True)

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"{self.name} has no derivative yet: its custom_vjp rules are missing. Give "
                f"them with {self.name}.defvjp."
            )
        return self.apply(args, kwargs, self._bind)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """As for any custom function; arguments that are not differentiated are not traced."""
        call = super().resolve(args, kwargs)
        for i, value in call.static:
            if any(isinstance(x, Tracer) for x in tree_leaves(value)):
                raise UnexpectedTracerError(
                    f"{self.name}: argument {i} is among nondiff_argnums, but it holds a traced "
                    "array. A custom_vjp function is given traced arrays as ordinary arguments: "
                    f"take {i} out of nondiff_argnums, and let the backward rule return None as "
                    "its cotangent."
                )
        check_distinct(self.name, call.leaves, call.paths)
        return call

    def _bind(self, call, operands, program, const_count, out_tree) -> list[Any]:
        if isinstance(program, EagerCall):
            rules = Rules(self, call, 0, program)
            return custom_vjp_open_p.bind(
                *operands,
                bwd=rules.backward,
                call=program,
                fwd=rules.forward,
                symbolic_zeros=self.symbolic_zeros,
            )
        rules = Rules(self, call, const_count, out_tree)
        return custom_vjp_call_p.bind(
            *operands,
            bwd=rules.backward,
            call_jaxpr=program,
            fwd=rules.forward,
            name=self.name,
            symbolic_zeros=self.symbolic_zeros,
        )
