"""``custom_jvp``: functions with a custom forward-mode derivative rule."""

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.structure import as_typed, stop_gradient
from ricci_pytree import PyTreeDef, tree_flatten, tree_map, tree_unflatten

from ._call import Call, CustomFunction, same_calls
from ._derived_rules import BatchedRule, LiveRule, joint_batch
from ._eager_call import BatchedEagerCall, EagerCall, define_eager
from ._shared_rules import (
    array_operand,
    call_rule,
    check_unwritten,
    discharge_custom,
    is_ours,
    is_replayed,
    lower_inline,
    split_inline,
    transpose_inline,
)

__all__ = ["custom_jvp", "custom_jvp_call_p"]


@ir.exported
class custom_jvp[**P, R](CustomFunction[P, R]):
    """A function whose jvp is specified rather than derived.

    From the rule follow forward mode, reverse mode (if the rule is linear in the tangents, and made
    of operations that can be transposed), ``vmap`` and higher derivatives.

    Args:
      fun: a function of pytrees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated: they are passed to the
        rule as they are, ahead of the primals.
      nondiff_argnames: the same by name.

    Example:
      ``log(1 + exp(x))`` overflows for large ``x``, and so does its derivative. Both are stated in
      a form that does not:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @ricci.custom_jvp
      ... def softplus(x):
      ...     return jnp.logaddexp(x, 0.0)
      >>> @softplus.defjvp
      ... def softplus_jvp(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return softplus(x), t * ricci.nn.sigmoid(x)
      >>> float(ricci.grad(softplus)(100.0)), float(ricci.grad(softplus)(0.0))
      (1.0, 0.5)

      A function of a setting, which is no array:

      >>> from functools import partial
      >>> @partial(ricci.custom_jvp, nondiff_argnums=(0,))
      ... def power(n, x):
      ...     return x**n
      >>> @power.defjvp
      ... def power_jvp(n, primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return power(n, x), n * x ** (n - 1) * t
      >>> float(ricci.grad(power, argnums=1)(3, 2.0))
      12.0

    Notes:
      The rule returns the output and a tangent of its shape and dtype. It may not multiply
      tangents, or apply a nonlinear function to them, if ``grad`` is to work.

    See also:
      ``custom_vjp``, where forward mode is not needed; ``custom_root`` and ``custom_linear_solve``.
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
        self.symbolic_zeros: bool = False
        # Whether this object is called only once, so that compiling would not pay off.
        self.made_once = False

    def defjvp[F: Callable[..., tuple[Any, Any]]](self, jvp: F, symbolic_zeros: bool = False) -> F:
        """Set the rule: ``jvp(*nondiff_args, primals, tangents) -> (output, output_tangent)``.

        Args:
          jvp: the rule. It gets tuples of the arguments that are differentiated and of their
            tangents.
          symbolic_zeros: whether tangents known to be zero are passed as ``SymbolicZero``, instead
            of arrays of zeros.

        Returns:
          ``jvp``, so that the method can be used as a decorator.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        self.is_shared: bool = is_ours(self.fun, jvp)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: ``rule(tangent, output, *primals)``; ``None`` for zero.

        Args:
          jvps: the rules, one for each argument. Their results are added.

        Example:
          >>> import ricci
          >>> product = ricci.custom_jvp(lambda x, y: x * y)
          >>> product.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: x * t)
          >>> float(ricci.grad(product, argnums=1)(2.0, 3.0))
          2.0
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps cannot be used with nondiff_argnums; use defjvp instead.")

        self.defjvp(_SumOfRules(self, jvps))

    @ir.api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.jvp is None:
            raise AttributeError(
                f"{self.name} has no derivative yet: its custom_jvp rule is missing. Give one "
                f"with {self.name}.defjvp."
            )
        return self.apply(args, kwargs, self._bind)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """As for any custom function; ``nondiff_argnums`` carry no tangents."""
        call = super().resolve(args, kwargs)
        if not call.static:
            return call
        return call._replace(static=tuple((i, tree_map(_constant, x)) for i, x in call.static))

    def _bind(self, call, operands, program, const_count, out_tree) -> list[Any]:
        if isinstance(program, EagerCall):
            return custom_jvp_open_p.bind(
                *operands,
                call=program,
                jvp=Rule(self, call, 0, program),
                symbolic_zeros=self.symbolic_zeros,
            )
        return custom_jvp_call_p.bind(
            *operands,
            call_jaxpr=program,
            jvp=Rule(self, call, const_count, out_tree),
            name=self.name,
            symbolic_zeros=self.symbolic_zeros,
        )


class _SumOfRules:
    """The rule of ``defjvps``, the sum of a rule for each argument.

    It lives as long as the function does, and does not keep it alive: no cycle.
    """

    __slots__ = ("_function", "_jvps")

    def __init__(self, function: custom_jvp[..., Any], jvps: Sequence[Callable[..., Any] | None]):
        self._function = weakref.ref(function)
        self._jvps = jvps

    def __reduce__(self) -> tuple[object, ...]:
        return _SumOfRules, (self._function(), self._jvps)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        output = cast(Callable[..., Any], self._function())(*primals)
        terms = [
            rule(t, output, *primals)
            for rule, t in zip(self._jvps, tangents, strict=True)
            if rule is not None
        ]
        leaves, tree = tree_flatten(output)
        total = [ad.Zero.from_primal(x) for x in leaves]
        for term in terms:
            total = list(map(ad.add_tangents, total, tree_flatten(term)[0]))
        return output, tree_unflatten(tree, map(ad.instantiate, total))


def _constant(x: object) -> object:
    """A ``nondiff`` argument: a traced array without its tangents."""
    return stop_gradient(x) if isinstance(x, ir.Tracer) else x


class Rule:
    """A user's jvp rule as a function of flat arrays: primals and tangents to both results."""

    __slots__ = ("call", "const_count", "custom", "out_tree")

    def __init__(
        self,
        custom: custom_jvp[..., Any],
        call: Call,
        const_count: int,
        out_tree: PyTreeDef | EagerCall,
    ):
        self.custom = custom
        self.call = call.form()
        self.const_count = const_count
        self.out_tree = out_tree

    def __eq__(self, other: object) -> bool:
        return type(other) is Rule and same_calls(self, other)

    def __hash__(self) -> int:
        return id(self.custom)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        name = self.custom.name
        skip = self.const_count
        tangents = tangents[skip:]
        leaves, arrays = self.call.with_references(primals[skip:])
        static = [value for _, value in self.call.static]
        assert self.custom.jvp is not None
        pair = call_rule(
            self.custom.jvp,
            *static,
            tree_unflatten(self.call.tree, leaves),
            tree_unflatten(self.call.tree, tangents),
        )
        check_unwritten(leaves, arrays)
        subject = f"the custom JVP rule of {name}"
        pair = ir.check_pair(pair, subject, "(output, output tangent)")
        outs, out_tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(
            pair[1], is_leaf=lambda x: isinstance(x, ad.SymbolicZero)
        )
        expected_tree = self.out_tree
        if isinstance(expected_tree, EagerCall):  # the function itself is not called
            expected_tree.out_tree = expected_tree = out_tree
        for what, tree in (("output", out_tree), ("output tangent", tangent_tree)):
            if tree != expected_tree:
                raise TypeError(
                    f"the custom JVP rule of {name} must return an {what} with the tree structure "
                    f"of {name}'s output:\n  expected {expected_tree}\n  got      {tree}"
                )
        checked = []
        for i, (out, tangent) in enumerate(zip(outs, out_tangents, strict=True)):
            expected: Any = ad.tangent_aval(ir.get_aval(out))
            if isinstance(tangent, ad.SymbolicZero):
                checked.append(ad.Zero(expected))
                continue
            actual: Any = ir.get_aval(tangent)
            if actual.shape != expected.shape or actual.dtype != expected.dtype:
                raise TypeError(
                    f"the custom JVP rule of {name} must return tangents of the shape and tangent "
                    f"dtype of the outputs: output {i} needs {expected.str_short()}, got "
                    f"{actual.str_short()}."
                )
            if expected.dtype == ir.float0:
                checked.append(ad.Zero(expected))
            elif actual.type_sharding is expected.type_sharding:
                checked.append(tangent)
            else:
                checked.append(as_typed(tangent, expected))
        return outs, checked

    def __repr__(self) -> str:
        return getattr(self.custom.jvp, "__name__", "jvp")


def _jvp(primals, tangents, *, jvp, symbolic_zeros, **_):
    # A recorded jaxpr has Python scalars as literals; the user's rule gets arrays, as in a direct
    # call.
    if is_replayed():
        primals = list(map(array_operand, primals))
    if symbolic_zeros:
        dense = [ad.SymbolicZero(t.aval) if type(t) is ad.Zero else t for t in tangents]
    else:
        dense = [array_operand(ad.instantiate(t)) if type(t) is ad.Zero else t for t in tangents]
    return jvp(primals, dense)


def _linearize(tape, primals, tangents, **params):
    call_jaxpr = params["call_jaxpr"]
    custom = params["jvp"].custom
    if tape.parent is ir.eval_trace and custom.is_shared and not custom.made_once:
        # One compiled step: linearize a jaxpr of this one equation, cached with the function.
        single = call_jaxpr.derived(
            ("single", params["name"]),
            lambda: ir.trace_to_jaxpr(
                lambda *xs: custom_jvp_call_p.bind(*xs, **params), call_jaxpr.in_avals
            ),
        )
        return ad.linearize_call(tape, primals, tangents, jaxpr=single, name=params["name"])
    with ir.set_trace(tape):
        return _jvp(primals, tangents, **params)


def _dims_of_rule(rule: BatchedRule, avals: Sequence[ir.ShapedArray]) -> Sequence[int | None]:
    """The batch dimensions of a rule's results, for operands of these types."""
    types: Any = [*avals, *map(ad.tangent_aval, filter(ad.has_tangent, avals))]

    def run(*args: ir.Array) -> list[Any]:
        tangents = iter(args[len(avals) :])
        rule(
            args[: len(avals)],
            [next(tangents) if ad.has_tangent(a) else ad.Zero(ad.tangent_aval(a)) for a in avals],
        )
        return []

    ir.trace_to_jaxpr(run, types)
    assert rule.out_dims is not None
    return rule.out_dims


def _batch(axis, args, dims, *, call_jaxpr, jvp, name, symbolic_zeros):
    dims_of_rule = partial(_dims_of_rule, BatchedRule(jvp, axis, dims, None))
    batched, out_dims = joint_batch(jvp.custom, call_jaxpr, axis, dims, dims_of_rule)
    rule = BatchedRule(jvp, axis, dims, out_dims)
    outs = custom_jvp_call_p.bind(
        *args, call_jaxpr=batched, jvp=rule, name=name, symbolic_zeros=symbolic_zeros
    )
    return outs, out_dims


def _dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> ir.LiveCall | None:
    if all(needed):
        return None
    # The rule is the user's, and takes all operands.
    smaller = ir.live_program(params["call_jaxpr"], needed).jaxpr
    changed = {"call_jaxpr": smaller, "jvp": LiveRule(params["jvp"], needed)}
    return ir.LiveCall({**params, **changed}, (True,) * len(smaller.invars), needed)


custom_jvp_call_p: ir.Primitive = ir.define(
    "custom_jvp_call",
    abstract_eval=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: params["call_jaxpr"].effects,
    jvp=_jvp,
    jet=ad.by_derivative,
    linearize=_linearize,
    split=split_inline,
    transpose=transpose_inline,
    batch=_batch,
    lower=lower_inline,
    program=lambda *, call_jaxpr, name, **_: (call_jaxpr, name),
    discharge=discharge_custom,
    dead_code=_dead_code,
)
ad.ruled_programs[custom_jvp_call_p] = lambda params: params["call_jaxpr"]


def _open_linearize(tape, primals, tangents, *, call, **params):
    with ir.set_trace(tape):
        return _jvp(primals, tangents, **params)


def _open_split(tape: ad.Tape, args, *, call, **_):
    with ir.set_trace(tape):
        return call(*args)


def _open_batch(axis, args, dims, *, call, jvp, symbolic_zeros):
    batched = BatchedEagerCall(call, axis, dims)
    outs = custom_jvp_open_p.bind(
        *args,
        call=batched,
        jvp=BatchedRule(jvp, axis, dims, None, batched),
        symbolic_zeros=symbolic_zeros,
    )
    return outs, batched.out_dims


# An eager call of a user's function, where no jaxpr is recorded.
custom_jvp_open_p: ir.Primitive = define_eager(
    "custom_jvp_open_call",
    jvp=lambda primals, tangents, *, call, **params: _jvp(primals, tangents, **params),
    linearize=_open_linearize,
    split=_open_split,
    batch=_open_batch,
)
