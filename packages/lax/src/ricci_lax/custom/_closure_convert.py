"""``closure_convert``: the arrays that a function closes over, as arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_batching import BatchTracer
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten

__all__ = ["closure_convert"]


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
