"""``custom_gradient`` and ``closure_convert``: custom rules that close over arrays."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_autodiff import Zero, tangent_aval
from ricci_batching import BatchTracer

from ._accumulators import ValAccum, accumulator
from ._backward_logs import checked_pair
from ._vjp import custom_vjp

__all__ = ["closure_convert", "custom_gradient"]


class _Traced(ir.TupleRecord):
    """A traced function of flat arrays: its jaxpr, the form of its result, and its constants."""

    jaxpr: ir.Jaxpr
    form: Any
    consts: list[Any]

    def __call__(self, *args: ir.PyTree) -> Sequence[Any]:
        return ir.eval_jaxpr(self.jaxpr, self.consts, *pytree.tree_flatten(args)[0])


# Residuals are pytrees of arrays: the constants of the traced function are the leaves.
pytree.register_pytree_node(
    _Traced,
    lambda traced: (traced.consts, (traced.jaxpr, traced.form)),
    lambda static, consts: _Traced(static[0], static[1], list(consts)),
)


def _traced(name: str, fun: Callable[..., tuple[Sequence[Any], Any]], avals: Sequence) -> _Traced:
    """Trace a function that returns arrays and the form of its result."""
    form: Any = None

    def flat(*args: ir.Array) -> Sequence[Any]:
        nonlocal form
        results, form = fun(*args)
        return results

    jaxpr = ir.trace_to_jaxpr(flat, avals, ir.DebugInfo("custom_gradient", name))
    return _Traced(jaxpr, form, jaxpr.consts)


if TYPE_CHECKING:

    class CustomGradientDecorator(Protocol):
        """The decorator that ``custom_gradient`` with only keywords returns."""

        def __call__[**P, R](
            self, fun: Callable[P, tuple[R, Callable[..., Any]]], /
        ) -> Callable[P, R]: ...

    @overload
    def custom_gradient[**P, R](
        fun: Callable[P, tuple[R, Callable[..., Any]]],
        *,
        with_logs: bool = False,
        remat: bool = False,
        with_accums: ir.PyTree = None,
    ) -> Callable[P, R]: ...
    @overload
    def custom_gradient(
        fun: None = None,
        *,
        with_logs: bool = False,
        remat: bool = False,
        with_accums: ir.PyTree = None,
    ) -> CustomGradientDecorator: ...


def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: ir.PyTree = None,
) -> Any:
    """Make a function that returns its value along with its reverse-mode rule differentiable.

    Args:
      fun: returns a pair ``(value, rule)``. ``rule(ct)`` takes a cotangent of the structure of
        ``value`` and returns a tuple of cotangents, one for each argument; for one argument that
        is an array it may return only the cotangent. It may close over values of ``fun``.
      with_logs: whether ``rule`` returns a pair of that and a dict (or ``None``) of entries for a
        log of the backward pass, which ``pullback.with_logs`` returns.
      remat: whether ``fun`` returns ``(value, again)`` instead, where ``again(*args)`` computes
        ``(value, rule)``. Inside of ``checkpoint`` the values that ``again`` closes over are
        stored, and the backward pass calls it; see ``custom_vjp.defremat``.
      with_accums: ``custom_derivatives.ValAccum`` if ``rule(ct, *accums)`` adds the cotangents to
        accumulators, as in ``custom_vjp.defvjp_with_accums``, and returns ``None`` or a log. It may
        be a tuple with an entry for each argument, in general a prefix of the arguments' structure.

    Returns:
      A function of the same positional arguments that returns ``value``; without ``fun``, a
      decorator.

    Raises:
      TypeError: if ``fun`` does not return a pair, ``rule`` other cotangents than it must, or
        ``with_accums`` has another leaf.
      NotImplementedError: for ``remat`` with ``with_accums``.

    Example:
      The rule uses the square root that was computed, and is finite at zero:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @ricci.custom_gradient
      ... def safe_sqrt(x):
      ...     root = jnp.sqrt(x)
      ...     return root, lambda ct: ct * jnp.where(root > 0, 0.5 / jnp.maximum(root, 1e-6), 0.0)
      >>> float(ricci.grad(safe_sqrt)(4.0)), float(ricci.grad(safe_sqrt)(0.0))
      (0.25, 0.0)

    See also:
      ``custom_vjp``, whose rules are separate functions.
    """
    if remat and with_accums is not None:
        raise NotImplementedError("custom_gradient takes either remat or with_accums, not both.")
    if fun is None:
        return partial(custom_gradient, with_logs=with_logs, remat=remat, with_accums=with_accums)
    name = getattr(fun, "__name__", type(fun).__name__)

    def value(*args: object, **kwargs: object) -> Any:
        return _pair(name, fun(*args, **kwargs))[0]

    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        if hasattr(fun, attribute):
            setattr(value, attribute, getattr(fun, attribute))

    # The rule closes over values of its call. Traced at once, it is a jaxpr with these as
    # constants, which are the residuals: it can be stored, and called under other transformations.
    def traced_rule(rule: Callable[..., Any], out: ir.PyTree, args: tuple[Any, ...]) -> _Traced:
        """The rule as a function of the leaves of the cotangent."""
        leaves, out_tree = pytree.tree_flatten(out)

        def flat_rule(*cts: ir.Array) -> tuple[Sequence[Any], Any]:
            ct = pytree.tree_unflatten(out_tree, cts)
            if with_accums is not None:
                return pytree.tree_flatten(_accumulated(name, rule, ct, args, with_accums))
            result = rule(ct)
            return pytree.tree_flatten(checked_pair(name, result) if with_logs else (result, None))

        return _traced(name, flat_rule, [tangent_aval(ir.get_aval(leaf)) for leaf in leaves])

    def fwd(*args: ir.PyTree) -> tuple[ir.PyTree, _Traced]:
        out, rule = _pair(name, fun(*args))
        return out, traced_rule(_callable(name, rule), out, args)

    def fwd_saving(*args: ir.PyTree) -> tuple[ir.PyTree, _Traced]:
        out, again = _pair(name, fun(*args))
        leaves, tree = pytree.tree_flatten(args)
        _callable(name, again)

        def flat_again(*args: ir.Array) -> tuple[Sequence[Any], Any]:
            inner = pytree.tree_unflatten(tree, args)
            out, rule = _pair(name, again(*inner))
            results, form = pytree.tree_flatten(
                (out, traced_rule(_callable(name, rule), out, inner))
            )
            return results, form

        return out, _traced(name, flat_again, list(map(ir.get_aval, leaves)))

    def rem(again: _Traced, *args: ir.PyTree) -> tuple[ir.PyTree, _Traced]:
        return pytree.tree_unflatten(again.form, again(*args))

    def bwd_with_logs(pullback: _Traced, ct: ir.PyTree) -> tuple[tuple[ir.PyTree, ...], Any]:
        cts, logs = pytree.tree_unflatten(pullback.form, pullback(ct))
        return (cts,) if pytree.treedef_is_leaf(pullback.form.children()[0]) else cts, logs

    def bwd(pullback: _Traced, ct: ir.PyTree) -> tuple[ir.PyTree, ...]:
        return bwd_with_logs(pullback, ct)[0]

    wrapped = custom_vjp(value)
    has_logs = with_logs or with_accums is not None
    if remat and has_logs:
        wrapped.defremat_with_logs(fwd_saving, rem, bwd_with_logs)
    elif remat:
        wrapped.defremat(fwd_saving, rem, bwd)
    elif has_logs:
        wrapped.defvjp_with_logs(fwd, bwd_with_logs)
    else:
        wrapped.defvjp(fwd, bwd)
    return wrapped


def _callable(name: str, rule: object) -> Callable[..., Any]:
    if not callable(rule):
        raise TypeError(
            f"{name}, which has custom_gradient, must return a function as the second of its "
            f"results, but it returned {type(rule).__name__}."
        )
    return rule


def _accumulated(
    name: str, rule: Callable[..., Any], ct: ir.PyTree, args: tuple[Any, ...], kinds: ir.PyTree
) -> tuple[ir.PyTree, dict[Any, Any] | None]:
    """The cotangents that a rule adds to accumulators of these kinds, and its log."""
    for kind in pytree.broadcast_prefix(kinds, args, is_leaf=lambda x: isinstance(x, type)):
        if kind is not ValAccum:
            raise TypeError(
                "custom_gradient: with_accums must be ValAccum, or a prefix of the arguments' "
                f"structure with ValAccum as its leaves, but {kind!r} is a leaf."
            )
    leaves, tree = pytree.tree_flatten(args)
    accums = [accumulator(ir.get_aval(leaf)) for leaf in leaves]
    _, logs = checked_pair(name, (None, rule(ct, *pytree.tree_unflatten(tree, accums))))
    # Where there are no terms, None represents zeros.
    sums = [None if type(total := accum.freeze()) is Zero else total for accum in accums]
    return pytree.tree_unflatten(tree, sums), logs


def _pair(name: str, out: object) -> tuple[Any, Any]:
    return ir.check_pair(out, f"{name}, which has custom_gradient,", "(value, rule)")


@ir.api_boundary
def closure_convert(fun: Callable, *example_args: ir.PyTree) -> tuple[Callable, list[Any]]:
    """Convert a closure: the traced arrays that it closes over become further arguments.

    Use it to pass a closure to a function with a custom derivative: the rules of that need every
    array that is differentiated as an argument.

    Args:
      fun: a function of pytrees of arrays.
      example_args: arguments with the structure, shapes and dtypes of later ones.

    Returns:
      ``converted, consts``, where ``converted(*args, *consts)`` is ``fun(*args)``. In ``consts``
      are the floating-point arrays that are being traced; other arrays stay closed over.

    Raises:
      TypeError: if ``converted`` is called with arguments of another structure.

    Example:
      The function to be integrated closes over ``scale``, with respect to which the integral is
      differentiated:

      >>> from functools import partial
      >>> import ricci
      >>> @partial(ricci.custom_vjp, nondiff_argnums=(0,))
      ... def midpoint(f, width, *consts):
      ...     return width * f(width / 2, *consts)
      >>> def forward(f, width, *consts):
      ...     return midpoint(f, width, *consts), (width, consts)
      >>> def backward(f, residuals, ct):
      ...     width, consts = residuals
      ...     _, pull = ricci.vjp(lambda *consts: width * f(width / 2, *consts), *consts)
      ...     return ct * f(width, *consts), *pull(ct)
      >>> midpoint.defvjp(forward, backward)
      >>> def integral(scale):
      ...     f, consts = ricci.closure_convert(lambda x: scale * x, 0.0)
      ...     return midpoint(f, 2.0, *consts)
      >>> float(integral(3.0)), float(ricci.grad(integral)(3.0))
      (6.0, 2.0)
    """
    if not callable(fun):
        raise TypeError(
            f"closure_convert needs a function, got {fun!r} of type {type(fun).__name__}."
        )
    leaves, tree = pytree.tree_flatten(example_args)
    avals = [_example_aval(i, leaf, example_args) for i, leaf in enumerate(leaves)]
    out_tree: Any = None

    def flat(*flat_args: ir.Array) -> list[Any]:
        nonlocal out_tree
        results, out_tree = pytree.tree_flatten(fun(*pytree.tree_unflatten(tree, flat_args)))
        return results

    name = getattr(fun, "__name__", type(fun).__name__)
    jaxpr = ir.trace_to_jaxpr(flat, avals, ir.DebugInfo("closure_convert", name))
    # Only constants that may have a tangent become arguments; the others stay closed over.
    moved = [may_be_differentiated(const) for const in jaxpr.consts]
    fixed = [None if m else const for const, m in zip(jaxpr.consts, moved, strict=True)]
    hoisted = [const for const, m in zip(jaxpr.consts, moved, strict=True) if m]

    @ir.api_boundary
    def converted_fun(*args_and_consts: ir.PyTree) -> ir.PyTree:
        count = len(args_and_consts) - len(hoisted)
        args = args_and_consts[: max(count, 0)]
        flat_args, args_tree = pytree.tree_flatten(args)
        if args_tree != tree:
            raise TypeError(
                "the function that closure_convert made takes arguments of the structure of the "
                f"examples, followed by {len(hoisted)} arrays:\n  expected {tree}\n  got      "
                f"{args_tree}"
            )
        consts = iter(args_and_consts[count:])
        values = [next(consts) if m else const for const, m in zip(fixed, moved, strict=True)]
        return pytree.tree_unflatten(out_tree, ir.eval_jaxpr(jaxpr, values, *flat_args))

    return converted_fun, hoisted


def may_be_differentiated(x: object) -> bool:
    """Whether an array that a function closes over may have a tangent in some enclosing trace."""
    # Below a batch there may be a tracer of a derivative.
    while isinstance(x, BatchTracer):
        x = x.value
    return isinstance(x, ir.Tracer) and ir.issubdtype(x.dtype, np.inexact)


def _example_aval(i: int, leaf: object, example_args: tuple) -> ir.AbstractValue:
    try:
        return ir.argument_aval(leaf)
    except TypeError as error:
        path = pytree.argument_paths(example_args, {}, None)[i]
        raise TypeError(f"closure_convert: example argument {path}: {error}") from None
