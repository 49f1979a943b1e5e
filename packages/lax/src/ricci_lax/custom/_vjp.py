"""``custom_vjp``: a function with a reverse-mode derivative rule of its own."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from ricci_autodiff import (
    SymbolicZero,
    Tape,
    Zero,
    instantiate,
    is_undefined_primal,
    linearize_call,
    split_by_linearizing,
    tangent_aval,
)
from ricci_ir import (
    Array,
    ArrayLike,
    LiveCall,
    Primitive,
    PyTree,
    Record,
    ShapedArray,
    Tracer,
    UnexpectedTracerError,
    api_boundary,
    by_program,
    config,
    context,
    define,
    eval_trace,
    float0,
    get_aval,
    live_program,
    trace_to_jaxpr,
    unsupported,
    varying,
)
from ricci_lax.rules._law_examples import no_examples
from ricci_pytree import (
    PyTreeDef,
    read_signature,
    tree_flatten,
    tree_leaves,
    tree_unflatten,
)
from ricci_stablehlo import Lowering, Value

from ._batched_rules import BatchedRules, joint_batch
from ._call import (
    Call,
    CustomFunction,
    array_operand,
    call_rule,
    check_logs,
    is_ours,
    is_replayed,
    lower_inline,
)
from ._narrowed_rules import NarrowedRules
from ._open_call import BatchedOpenCall, OpenCall, define_open
from ._references import discharge_custom

__all__ = [
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_tangent_p",
    "CustomVJPPrimal",
]


class CustomVJPPrimal(Record):
    """An argument as a forward rule with ``symbolic_zeros`` sees it: a leaf of its pytree.

    Attributes:
      value: the array.
      perturbed: whether the argument is being differentiated.

    Example:
      A forward rule that keeps a residual only for an argument that is differentiated:

      >>> import ricci
      >>> product = ricci.custom_vjp(lambda x, y: x * y)
      >>> def forward(x, y):
      ...     return x.value * y.value, (y.value, x.value if y.perturbed else None)
      >>> def backward(residuals, ct):
      ...     y, x = residuals
      ...     return ct * y, None if x is None else ct * x
      >>> product.defvjp(forward, backward, symbolic_zeros=True)
      >>> float(ricci.grad(product)(2.0, 3.0))
      3.0
    """

    value: ArrayLike
    perturbed: bool


class custom_vjp[**P, R](CustomFunction[P, R]):
    """A function whose vjp is given rather than derived.

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

    def defvjp(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[Any, ...]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules.

        Args:
          fwd: takes the function's arguments, returns ``(output, residuals)``.
          bwd: ``bwd(*nondiff_args, residuals, ct)`` returns a tuple with a cotangent for each
            differentiable argument; ``None`` stands for zero.
          symbolic_zeros: ``fwd`` gets ``CustomVJPPrimal`` and ``bwd`` ``SymbolicZero``.
          optimize_remat: accepted; residuals that are not needed are dropped in any case.
        """
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.is_shared: bool = is_ours(self.fun, fwd, bwd)

    def defvjp_with_logs(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[tuple[Any, ...], dict[str, Any] | None]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules, as ``defvjp`` does; the backward rule returns a log as well.

        Args:
          bwd: returns a pair of the tuple of cotangents and a dict (or ``None``) of entries for a
            log of the backward pass. They are checked and dropped.
          fwd, symbolic_zeros, optimize_remat: see ``defvjp``.
        """

        @wraps(bwd)
        def without_logs(*args: object) -> PyTree:
            return check_logs(self.name, bwd(*args))

        self.defvjp(fwd, without_logs, symbolic_zeros, optimize_remat)

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
        return call

    def _bind(self, call, operands, program, const_count, out_tree) -> list[Any]:
        if isinstance(program, OpenCall):
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


class Rules:
    """A user's forward and backward rules as functions of flat arrays."""

    __slots__ = ("call", "const_count", "custom", "out_tree")

    def __init__(
        self,
        custom: custom_vjp[..., Any],
        call: Call,
        const_count: int,
        out_tree: PyTreeDef | OpenCall,
    ):
        self.custom = custom
        self.call = call.form()
        self.const_count = const_count
        self.out_tree = out_tree

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list, list, PyTreeDef]:
        """The outputs, the residuals, and the structure of the residuals."""
        name = self.custom.name
        primals = list(primals[self.const_count :])
        if self.custom.symbolic_zeros:
            flags = perturbed[self.const_count :]
            primals = [CustomVJPPrimal(x, p) for x, p in zip(primals, flags, strict=True)]
        assert self.custom.fwd is not None
        pair = call_rule(self.custom.fwd, *self.call.arguments(primals))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"the custom VJP forward rule of {name} must return a pair (output, residuals), "
                f"but it returned {type(pair).__name__}."
            )
        outs, out_tree = tree_flatten(pair[0])
        if isinstance(self.out_tree, OpenCall):  # the function itself is not called
            self.out_tree.out_tree = self.out_tree = out_tree
        if out_tree != self.out_tree:
            raise TypeError(
                f"the custom VJP forward rule of {name} must return an output with the tree "
                f"structure of {name}'s output:\n  expected {self.out_tree}\n  got      {out_tree}"
            )
        residuals, tree = tree_flatten(pair[1])
        return outs, residuals, tree

    def backward(
        self,
        tree: PyTreeDef,
        residuals: Sequence[Any],
        cts: Sequence[Any],
        avals: Sequence[Any],
    ) -> list:
        """The cotangents of the arguments, as arrays or ``Zero``."""
        name = self.custom.name
        if self.custom.symbolic_zeros:
            cts = [SymbolicZero(c.aval) if type(c) is Zero else c for c in cts]
        else:
            cts = [array_operand(instantiate(c)) for c in cts]
        static = [value for _, value in self.call.static]
        assert self.custom.bwd is not None
        assert not isinstance(self.out_tree, OpenCall)
        result = call_rule(
            self.custom.bwd,
            *static,
            tree_unflatten(tree, residuals),
            tree_unflatten(self.out_tree, cts),
        )
        entries = self.call.tree.children()
        if not isinstance(result, tuple | list) or len(result) != len(entries):
            found = f"{len(result)} entries" if isinstance(result, tuple | list) else type(result)
            raise TypeError(
                f"the custom VJP backward rule of {name} must return a tuple with one cotangent "
                f"for each of its {len(entries)} arguments, but it returned {found}."
            )
        flat: list[Any] = [Zero(tangent_aval(aval)) for aval in avals[: self.const_count]]
        for i, (entry, value) in enumerate(zip(entries, result, strict=True)):
            expected = avals[len(flat) : len(flat) + entry.num_leaves]
            flat += self._checked(i, entry, value, expected)
        return flat

    def _argument(self, i: int) -> str:
        """The name of the argument that is the ``i``-th without the static ones."""
        signature = read_signature(self.custom.fun)
        fixed = {position for position, _ in self.call.static}
        names = [] if signature is None else list(signature.parameters)
        names = [name for position, name in enumerate(names) if position not in fixed]
        return names[i] if i < len(names) else str(i)

    def _checked(self, i: int, entry: PyTreeDef, value: PyTree, avals: Sequence[Any]) -> list[Any]:
        """The cotangents of one argument as leaves, checked against its structure and types."""
        name = self.custom.name
        if value is None:
            return [Zero(tangent_aval(aval)) for aval in avals]
        leaves, tree = tree_flatten(
            value, is_leaf=lambda x: x is None or isinstance(x, SymbolicZero)
        )
        if len(leaves) != entry.num_leaves:  # some None stand where the argument has None, too
            leaves = _flattened_like(entry, value)
        if leaves is None:
            raise TypeError(
                f"the custom VJP backward rule of {name} must return, for argument "
                f"{self._argument(i)}, a cotangent with the argument's tree structure:\n"
                f"  expected {entry}\n"
                f"  got      {tree}"
            )
        result = []
        for aval, leaf in zip(avals, leaves, strict=True):
            expected: Any = tangent_aval(aval)
            if leaf is None or isinstance(leaf, SymbolicZero) or expected.dtype == float0:
                result.append(Zero(expected))
                continue
            found: Any = get_aval(leaf)
            fits = found.shape == expected.shape and found.dtype == expected.dtype
            if not fits and not _disable_bwd_checks.value:
                raise ValueError(
                    f"the custom VJP backward rule of {name} must return cotangents of the shape "
                    f"and dtype of the arguments: argument {self._argument(i)} needs "
                    f"{expected.str_short()}, got {found.str_short()}."
                )
            further = varying(found) - varying(expected)
            if further and not _disable_bwd_checks.value:
                names = ", ".join(map(repr, sorted(map(str, further))))
                raise ValueError(
                    f"the custom VJP backward rule of {name} must return cotangents of the types "
                    f"of the arguments: argument {i} has type {expected.str_short(True)}, the same "
                    f"along the mesh axis {names}, but its cotangent has type "
                    f"{found.str_short(True)}. Each device has a term of it: return "
                    f"jax.lax.psum(ct, {names})."
                )
            result.append(leaf)
        return result


_disable_bwd_checks = config.state("jax_disable_bwd_checks")


def _flattened_like(tree: PyTreeDef, value: PyTree) -> list[Any] | None:
    """The parts of a pytree at the leaves of ``tree``; ``None`` if it has another structure."""
    try:
        return tree.flatten_up_to(value)
    except ValueError:
        return None


def _dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> LiveCall | None:
    if all(needed):
        return None
    # The rules are the user's, and take all operands.
    whole = params["call_jaxpr"]
    smaller = live_program(whole, needed).jaxpr
    rules = NarrowedRules(params["fwd"], params["bwd"], needed, whole.out_avals)
    changed = {"bwd": rules.backward, "call_jaxpr": smaller, "fwd": rules.forward}
    return LiveCall({**params, **changed}, (True,) * len(smaller.invars), needed)


def _linearize(tape: Tape, primals, tangents, **params):
    call_jaxpr = params["call_jaxpr"]
    shared = _custom_of(params["fwd"]).is_shared
    if shared and tape.parent is eval_trace and not any(isinstance(x, Tracer) for x in primals):
        single = call_jaxpr.derived(
            ("single", params["name"]),
            lambda: trace_to_jaxpr(
                lambda *xs: custom_vjp_call_p.bind(*xs, **params), call_jaxpr.in_avals
            ),
        )
        return linearize_call(tape, primals, tangents, jaxpr=single, name=params["name"])
    return _pushed(tape.record, primals, tangents, **params)


def _jvp(primals, tangents, **params):
    if context.trace is eval_trace:
        raise _reverse_only(params["bwd"])
    return _pushed(_bind_tangent, primals, tangents, **params)


def _bind_tangent(
    primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
) -> list[Array]:
    return primitive.bind(*operands, **params)


def _pushed(record: Callable[..., Any], primals, tangents, *, bwd, fwd, symbolic_zeros, **_):
    """Run the forward rule; the tangents become one operation that has only a transpose."""
    if is_replayed():
        primals = list(map(array_operand, primals))
    outs, residuals, tree = fwd(primals, [type(t) is not Zero for t in tangents])
    out_avals = tuple(tangent_aval(get_aval(out)) for out in outs)
    recorded = record(
        custom_vjp_tangent_p,
        (*residuals, *(t for t in tangents if type(t) is not Zero)),
        {
            "avals": tuple(get_aval(x) for x in primals),
            "bwd": bwd,
            "in_zeros": tuple(type(t) is Zero for t in tangents),
            "num_res": len(residuals),
            "out_avals": out_avals,
            "residual_tree": tree,
            "symbolic_zeros": symbolic_zeros,
        },
    )
    return outs, [
        Zero(aval) if aval.dtype == float0 else t  # pyright: ignore[reportAttributeAccessIssue]
        for aval, t in zip(out_avals, recorded, strict=True)
    ]


def _dims_of_rule(rules: BatchedRules, avals: Sequence[ShapedArray]) -> Sequence[int | None]:
    """The batch dimensions of the forward rule's outputs, for operands of these types."""
    types: Sequence[Any] = avals

    def run(*args: Array) -> list[Any]:
        rules.forward(args, [True] * len(args))
        return []

    trace_to_jaxpr(run, types)
    assert rules.out_dims is not None
    return rules.out_dims


def _batch(axis, args, dims, *, bwd, call_jaxpr, fwd, name, symbolic_zeros):
    found = partial(_dims_of_rule, BatchedRules(fwd, bwd, axis, dims, None))
    batched, out_dims = joint_batch(call_jaxpr, axis, dims, found)
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


def _rule_name(rule: Any, kind: str) -> str:
    """The name of the user's rule, also where that is applied to batches."""
    rules = rule.__self__
    if isinstance(rules, BatchedRules | NarrowedRules):
        return _rule_name(rules.fwd if kind == "fwd" else rules.inner_bwd, kind)
    return getattr(getattr(rules.custom, kind), "__name__", kind)


def _custom_of(rule: Any) -> custom_vjp[..., Any]:
    """The function that a flat forward rule belongs to."""
    rules = rule.__self__
    through = isinstance(rules, BatchedRules | NarrowedRules)
    return _custom_of(rules.fwd) if through else rules.custom


def _shown(*, bwd, fwd, **params):
    return {**params, "bwd": _rule_name(bwd, "bwd"), "fwd": _rule_name(fwd, "fwd")}


custom_vjp_call_p: Primitive = define(
    "custom_vjp_call",
    abstract_eval=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
    multiple_results=True,
    sharding=by_program,
    memo=False,
    effects=lambda params: params["call_jaxpr"].effects,
    jvp=_jvp,
    linearize=_linearize,
    split=split_by_linearizing(_linearize),
    transpose=unsupported("the function is not linear; its derivative rule is"),
    batch=_batch,
    lower=lower_inline,
    program=lambda *, call_jaxpr, name, **_: (call_jaxpr, name),
    discharge=discharge_custom,
    dead_code=_dead_code,
    shown=_shown,
    exempt={"transpose": "it is replaced by its own rules when it is linearized"},
)


def _tangent_transpose(cts, *args, avals, bwd, in_zeros, num_res, residual_tree, **_):
    residuals, operands = args[:num_res], args[num_res:]
    results = bwd(residual_tree, residuals, cts, avals)
    given = [r for r, zero in zip(results, in_zeros, strict=True) if not zero]
    return [
        *(None for _ in residuals),
        *(
            r if is_undefined_primal(x) and type(r) is not Zero else None
            for x, r in zip(operands, given, strict=True)
        ),
    ]


def _reverse_only(bwd: Any) -> TypeError:
    rules: Any = bwd.__self__
    wraps = isinstance(rules, BatchedRules | NarrowedRules)
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
custom_vjp_tangent_p: Primitive = define(
    "custom_lin",
    abstract_eval=lambda *avals, out_avals, **_: list(out_avals),
    multiple_results=True,
    sharding=by_program,
    memo=False,
    jvp=unsupported("only the backward rule of a custom_vjp function is known"),
    transpose=_tangent_transpose,
    batch=_tangent_batch,
    lower=_tangent_lower,
    program=_tangent_program,
    shown=_tangent_shown,
    examples=no_examples(
        "it stands for a tangent's program on a tape, and is only ever transposed"
    ),
)


def _open_jvp(primals, tangents, *, call, **params):
    return _jvp(primals, tangents, **params)


def _open_linearize(tape: Tape, primals, tangents, *, call, **params):
    return _pushed(tape.record, primals, tangents, **params)


def _open_batch(axis, args, dims, *, bwd, call, fwd, symbolic_zeros):
    batched = BatchedOpenCall(call, axis, dims)
    rules = BatchedRules(fwd, bwd, axis, dims, None, batched)
    outs = custom_vjp_open_p.bind(
        *args,
        bwd=rules.backward,
        call=batched,
        fwd=rules.forward,
        symbolic_zeros=symbolic_zeros,
    )
    return outs, batched.out_dims


# A call of a user's function where no program is recorded.
custom_vjp_open_p: Primitive = define_open(
    "custom_vjp_open_call",
    jvp=_open_jvp,
    linearize=_open_linearize,
    split=split_by_linearizing(_open_linearize),
    batch=_open_batch,
)
