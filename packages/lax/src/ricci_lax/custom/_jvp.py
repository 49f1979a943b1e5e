"""``custom_jvp``: a function with a forward-mode derivative rule of its own."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from ricci_autodiff import (
    SymbolicZero,
    Zero,
    add_tangents,
    instantiate,
    linearize_call,
    split_by_linearizing,
    tangent_aval,
)
from ricci_batching import Axis, batch_flat, batch_jaxpr, batched_at
from ricci_ir import (
    Primitive,
    api_boundary,
    context,
    define,
    eval_trace,
    get_aval,
    trace_to_jaxpr,
    unsupported,
)
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

from ._call import Call, CustomFunction, call_rule, lower_inline

__all__ = [
    "custom_jvp",
    "custom_jvp_call_p",
]


class custom_jvp[**P, R](CustomFunction[P, R]):
    """A function whose jvp is given rather than derived.

    Args:
      fun: a function of pytrees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated: they are passed to the
        rule as they are, ahead of the primals.
      nondiff_argnames: the same by name.

    Example:
      >>> from ricci_lax import sin, cos, mul
      >>> @custom_jvp
      ... def f(x):
      ...     return sin(x)
      >>> @f.defjvp
      ... def f_jvp(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return f(x), mul(cos(x), t)
    """

    if TYPE_CHECKING:
        # For pyright, to which partial(custom_jvp, ...) is a decorator of unknown type without it.
        def __new__[**Q, T](
            cls,
            fun: Callable[Q, T],
            nondiff_argnums: Sequence[int] = (),
            nondiff_argnames: Iterable[str] = (),
        ) -> "custom_jvp[Q, T]": ...

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Iterable[str] = (),
    ):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., tuple[Any, Any]] | None = None
        self.symbolic_zeros = False
        # Whether this object is called only once, so that nothing is compiled for later calls.
        self.made_once = False

    def defjvp[F: Callable[..., tuple[Any, Any]]](self, jvp: F, symbolic_zeros: bool = False) -> F:
        """Set the rule: ``jvp(*nondiff_args, primals, tangents) -> (output, output_tangent)``.

        With ``symbolic_zeros``, tangents known to be zero are passed as ``SymbolicZero``.
        Returns ``jvp``, so that it can be used as a decorator.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: ``rule(tangent, output, *primals)``; ``None`` for zero."""
        if self.nondiff_argnums:
            raise TypeError("defjvps cannot be used with nondiff_argnums; use defjvp instead.")

        call = cast(Callable[..., Any], self)

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            output = call(*primals)
            terms = [
                rule(t, output, *primals)
                for rule, t in zip(jvps, tangents, strict=True)
                if rule is not None
            ]
            leaves, tree = tree_flatten(output)
            total = [Zero.from_primal(x) for x in leaves]
            for term in terms:
                total = list(map(add_tangents, total, tree_flatten(term)[0]))
            return output, tree_unflatten(tree, map(instantiate, total))

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.jvp is None:
            raise AttributeError(
                f"{self.name} has no derivative yet: its custom_jvp rule is missing. Give one "
                f"with {self.name}.defjvp."
            )
        return self.apply(args, kwargs, self._bind)

    def _bind(self, call, operands, program, const_count, out_tree) -> list[Any]:
        return custom_jvp_call_p.bind(
            *operands,
            call_jaxpr=program,
            jvp=Rule(self, call, const_count, out_tree),
            name=self.name,
            symbolic_zeros=self.symbolic_zeros,
        )


class Rule:
    """A user's jvp rule as a function of flat arrays: primals and tangents to both results."""

    __slots__ = ("call", "const_count", "custom", "out_tree")

    def __init__(
        self, custom: custom_jvp[..., Any], call: Call, const_count: int, out_tree: PyTreeDef
    ):
        self.custom = custom
        self.call = call._replace(leaves=[], paths=list)
        self.const_count = const_count
        self.out_tree = out_tree

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        name = self.custom.name
        skip = self.const_count
        primals, tangents = primals[skip:], tangents[skip:]
        static = [value for _, value in self.call.static]
        assert self.custom.jvp is not None
        pair = call_rule(
            self.custom.jvp,
            *static,
            tree_unflatten(self.call.tree, primals),
            tree_unflatten(self.call.tree, tangents),
        )
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"the custom JVP rule of {name} must return a pair (output, output tangent), but "
                f"it returned {type(pair).__name__}."
            )
        outs, out_tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(
            pair[1], is_leaf=lambda x: isinstance(x, SymbolicZero)
        )
        for what, tree in (("output", out_tree), ("output tangent", tangent_tree)):
            if tree != self.out_tree:
                raise TypeError(
                    f"the custom JVP rule of {name} must return an {what} with the tree structure "
                    f"of {name}'s output:\n  expected {self.out_tree}\n  got      {tree}"
                )
        checked = []
        for i, (out, tangent) in enumerate(zip(outs, out_tangents, strict=True)):
            expected: Any = tangent_aval(get_aval(out))
            if isinstance(tangent, SymbolicZero):
                checked.append(Zero(expected))
                continue
            found: Any = get_aval(tangent)
            if found.shape != expected.shape or found.dtype != expected.dtype:
                raise TypeError(
                    f"the custom JVP rule of {name} must return tangents of the shape and tangent "
                    f"dtype of the outputs: output {i} needs {expected.str_short()}, got "
                    f"{found.str_short()}."
                )
            checked.append(tangent)
        return outs, checked

    def __repr__(self) -> str:
        return getattr(self.custom.jvp, "__name__", "jvp")


class BatchedRule:
    """A flat jvp rule applied to batches; the results are batched along axis 0."""

    __slots__ = ("axis", "dims", "rule")

    def __init__(self, rule: Callable, axis: Axis, dims: Sequence[int | None]):
        self.rule = rule
        self.axis = axis
        self.dims = tuple(dims)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        count = len(primals)
        zeros = [type(t) is Zero or isinstance(t, SymbolicZero) for t in tangents]

        def flat(*args):
            inner = iter(args[count:])
            given = [
                _one_example(t, d) if z else next(inner)
                for t, z, d in zip(tangents, zeros, self.dims, strict=True)
            ]
            outs, out_tangents = self.rule(args[:count], given)
            return [*outs, *map(instantiate, out_tangents)]

        args = [*primals, *(t for t, z in zip(tangents, zeros, strict=True) if not z)]
        dims = [*self.dims, *(d for d, z in zip(self.dims, zeros, strict=True) if not z)]
        values, out_dims = batch_flat(flat, self.axis, args, dims)
        values = [
            batched_at(v, d, self.axis.size, 0) for v, d in zip(values, out_dims, strict=True)
        ]
        half = len(values) // 2
        return values[:half], values[half:]

    def __repr__(self) -> str:
        return repr(self.rule)


def _one_example(zero: Zero | SymbolicZero, dim: int | None) -> Zero | SymbolicZero:
    """The zero of one example, from that of a batch."""
    if dim is None:
        return zero
    shape = zero.aval.shape
    return type(zero)(zero.aval.update(shape=(*shape[:dim], *shape[dim + 1 :])))


def _jvp(primals, tangents, *, call_jaxpr, jvp, name, symbolic_zeros):
    if symbolic_zeros:
        given = [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
    else:
        given = [instantiate(t) for t in tangents]
    return jvp(primals, given)


def _is_made_once(rule: Any) -> bool:
    while isinstance(rule, BatchedRule):
        rule = rule.rule
    return rule.custom.made_once


def _linearize(tape, primals, tangents, **params):
    call_jaxpr = params["call_jaxpr"]
    if tape.parent is eval_trace and not _is_made_once(params["jvp"]):
        # One compiled step: linearize a program of this one equation, kept with the function.
        single = call_jaxpr.derived(
            ("single", params["name"]),
            lambda: trace_to_jaxpr(
                lambda *xs: custom_jvp_call_p.bind(*xs, **params), call_jaxpr.in_avals
            ),
        )
        return linearize_call(tape, primals, tangents, jaxpr=single, name=params["name"])
    previous = context.trace
    context.trace = tape
    try:
        return _jvp(primals, tangents, **params)
    finally:
        context.trace = previous


def _batch(axis, args, dims, *, call_jaxpr, jvp, name, symbolic_zeros):
    count = len(call_jaxpr.outvars)
    batched, out_dims = batch_jaxpr(call_jaxpr, axis, dims, (0,) * count)
    rule = BatchedRule(jvp, axis, dims)
    outs = custom_jvp_call_p.bind(
        *args, call_jaxpr=batched, jvp=rule, name=name, symbolic_zeros=symbolic_zeros
    )
    return outs, out_dims


custom_jvp_call_p: Primitive = define(
    "custom_jvp_call",
    abstract_eval=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
    multiple_results=True,
    memo=False,
    effects=lambda params: params["call_jaxpr"].effects,
    jvp=_jvp,
    linearize=_linearize,
    split=split_by_linearizing(_linearize),
    transpose=unsupported("the function is not linear; its derivative rule is"),
    batch=_batch,
    lower=lower_inline,
    program=lambda *, call_jaxpr, name, **_: (call_jaxpr, name),
)
