"""``custom_gradient`` and ``closure_convert``: custom rules that close over arrays."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

import ricci_ir as ir
from ricci_autodiff import tangent_aval
from ricci_batching import BatchTracer
from ricci_pytree import (
    PyTreeDef,
    argument_paths,
    register_pytree_node,
    tree_flatten,
    tree_unflatten,
    treedef_is_leaf,
)

from ._backward_logs import checked_pair
from ._vjp import custom_vjp

__all__ = ["closure_convert", "custom_gradient"]


class _Pullback(ir.TupleRecord):
    """A traced rule: its jaxpr, the structures of its result and its log, and its constants."""

    jaxpr: ir.Jaxpr
    tree: PyTreeDef
    log_tree: PyTreeDef
    consts: list[Any]


# Residuals are pytrees of arrays: the constants of the traced rule are the leaves.
register_pytree_node(
    _Pullback,
    lambda pullback: (pullback.consts, (pullback.jaxpr, pullback.tree, pullback.log_tree)),
    lambda static, consts: _Pullback(static[0], static[1], static[2], list(consts)),
)


if TYPE_CHECKING:

    class CustomGradientDecorator(Protocol):
        """The decorator that ``custom_gradient`` with only keywords returns."""

        def __call__[**P, R](
            self, fun: Callable[P, tuple[R, Callable[..., Any]]], /
        ) -> Callable[P, R]: ...

    @overload
    def custom_gradient[**P, R](
        fun: Callable[P, tuple[R, Callable[..., Any]]], *, with_logs: bool = False
    ) -> Callable[P, R]: ...
    @overload
    def custom_gradient(
        fun: None = None, *, with_logs: bool = False
    ) -> CustomGradientDecorator: ...


def custom_gradient(fun: Callable[..., Any] | None = None, *, with_logs: bool = False) -> Any:
    """Make a function that returns its value along with its reverse-mode rule differentiable.

    Args:
      fun: returns a pair ``(value, rule)``. ``rule(ct)`` takes a cotangent of the structure of
        ``value`` and returns a tuple of cotangents, one for each argument; for one argument that
        is an array it may return only the cotangent. It may close over values of ``fun``.
      with_logs: whether ``rule`` returns a pair of that and a dict (or ``None``) of entries for a
        log of the backward pass, which ``pullback.with_logs`` returns.

    Returns:
      A function of the same positional arguments that returns ``value``; without ``fun``, a
      decorator.

    Raises:
      TypeError: if ``fun`` does not return a pair, or ``rule`` other cotangents than it must.

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
    if fun is None:
        return partial(custom_gradient, with_logs=with_logs)
    name = getattr(fun, "__name__", type(fun).__name__)

    def value(*args: object, **kwargs: object) -> Any:
        return _pair(name, fun(*args, **kwargs))[0]

    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        if hasattr(fun, attribute):
            setattr(value, attribute, getattr(fun, attribute))

    def fwd(*args: ir.PyTree) -> tuple[ir.PyTree, _Pullback]:
        out, rule = _pair(name, fun(*args))
        if not callable(rule):
            raise TypeError(
                f"{name}, which has custom_gradient, must return a function as the second of its "
                f"results, but it returned {type(rule).__name__}."
            )
        leaves, out_tree = tree_flatten(out)
        tree: Any = None
        log_tree: Any = None

        def flat_rule(*cts: ir.Array) -> list[Any]:
            nonlocal tree, log_tree
            result = rule(tree_unflatten(out_tree, cts))
            result, logs = checked_pair(name, result) if with_logs else (result, None)
            results, tree = tree_flatten(result)
            entries, log_tree = tree_flatten(logs)
            return [*results, *entries]

        avals = [tangent_aval(ir.get_aval(leaf)) for leaf in leaves]
        jaxpr = ir.trace_to_jaxpr(flat_rule, avals, ir.DebugInfo("custom_gradient", name))
        return out, _Pullback(jaxpr, tree, log_tree, jaxpr.consts)

    def bwd_with_logs(pullback: _Pullback, ct: ir.PyTree) -> tuple[tuple[ir.PyTree, ...], Any]:
        outs = ir.eval_jaxpr(pullback.jaxpr, pullback.consts, *tree_flatten(ct)[0])
        count = pullback.tree.num_leaves
        logs = tree_unflatten(pullback.log_tree, outs[count:])
        if treedef_is_leaf(pullback.tree):
            return (outs[0],), logs
        return tree_unflatten(pullback.tree, outs[:count]), logs

    def bwd(pullback: _Pullback, ct: ir.PyTree) -> Any:
        return bwd_with_logs(pullback, ct)[0]

    wrapped = custom_vjp(value)
    if with_logs:
        wrapped.defvjp_with_logs(fwd, bwd_with_logs)
    else:
        wrapped.defvjp(fwd, bwd)
    return wrapped


def _pair(name: str, out: object) -> tuple[Any, Any]:
    if not isinstance(out, tuple | list) or len(out) != 2:
        raise TypeError(
            f"{name}, which has custom_gradient, must return a pair (value, rule), but it returned "
            f"{type(out).__name__}."
        )
    return out[0], out[1]


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
    leaves, tree = tree_flatten(example_args)
    avals = [_example_aval(i, leaf, example_args) for i, leaf in enumerate(leaves)]
    out_tree: Any = None

    def flat(*flat_args: ir.Array) -> list[Any]:
        nonlocal out_tree
        results, out_tree = tree_flatten(fun(*tree_unflatten(tree, flat_args)))
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
        flat_args, args_tree = tree_flatten(args)
        if args_tree != tree:
            raise TypeError(
                "the function that closure_convert made takes arguments of the structure of the "
                f"examples, followed by {len(hoisted)} arrays:\n  expected {tree}\n  got      "
                f"{args_tree}"
            )
        consts = iter(args_and_consts[count:])
        values = [next(consts) if m else const for const, m in zip(fixed, moved, strict=True)]
        return tree_unflatten(out_tree, ir.eval_jaxpr(jaxpr, values, *flat_args))

    return converted_fun, hoisted


def may_be_differentiated(x: object) -> bool:
    """Whether an array that a function closes over may have a tangent in some enclosing trace."""
    while isinstance(x, BatchTracer):
        x = x.value
    return isinstance(x, ir.Tracer) and ir.issubdtype(x.dtype, np.inexact)


def _example_aval(i: int, leaf: object, example_args: tuple) -> ir.AbstractValue:
    try:
        return ir.argument_aval(leaf)
    except TypeError as error:
        path = argument_paths(example_args, {}, None)[i]
        raise TypeError(f"closure_convert: example argument {path}: {error}") from None
