"""The residuals that reverse-mode differentiation stores for the backward pass."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_autodiff import Zero, linearize_flat, tape_to_jaxpr
from ricci_ir import (
    AbstractValue,
    Array,
    Atom,
    DebugInfo,
    Jaxpr,
    PyTree,
    context,
    issubdtype,
    trace_to_jaxpr,
)
from ricci_lax.control_flow._bodies import function_name, leaf_avals
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten

from ._checkpoint import name_p

__all__ = [
    "print_saved_residuals",
    "saved_residuals",
]


def saved_residuals(
    f: Callable[..., Any], *args: PyTree, **kwargs: Any
) -> list[tuple[AbstractValue, str]]:
    """The residuals that are stored for the backward pass, by type and origin.

    Args:
      f: a function of pytrees of arrays.
      args, kwargs: its arguments, or anything with a shape and a dtype in place of arrays.

    Returns:
      For each residual, its type, and what it is.
    """
    leaves, tree = tree_flatten((args, kwargs))
    names = argument_paths(args, kwargs, f)
    avals = leaf_avals("saved_residuals", names, leaves)
    nonzeros = [issubdtype(a.dtype, np.inexact) for a in avals]

    def run(*flat: Array) -> list[Any]:
        positional, named = tree_unflatten(tree, flat)
        return tree_flatten(f(*positional, **named))[0]

    def residuals(*flat: Array) -> list[Any]:
        tape, given, _, tangents = linearize_flat(run, flat, nonzeros)
        out_vars = [t.atom for t in tangents if type(t) is not Zero]
        linear, kept = tape_to_jaxpr(tape, [t.atom for t in given], out_vars, context.trace)
        return [*kept, *linear.consts]

    info = DebugInfo("saved_residuals", function_name(f), tuple(names))
    jaxpr = trace_to_jaxpr(residuals, avals, info)
    return [(atom.aval, _origin(jaxpr, atom, names)) for atom in jaxpr.outvars]


def _origin(jaxpr: Jaxpr, atom: Atom, names: list[str]) -> str:
    for var, name in zip(jaxpr.invars, names, strict=True):
        if var is atom:
            return f"from the argument {name}"
    for eqn in jaxpr.eqns:
        if any(var is atom for var in eqn.outvars):
            if eqn.primitive is name_p:
                return f"named {eqn.params['name']!r} from {eqn.source}"
            name = eqn.params.get("name")
            what = f"the jitted function {name!r}" if isinstance(name, str) else eqn.primitive.name
            return f"output of {what} from {eqn.source}"
    return "from a constant"


def print_saved_residuals(f: Callable[..., Any], *args: PyTree, **kwargs: Any) -> None:
    """Print the residuals of a function, one per line: the type, and what it is.

    Args:
      f: a function of pytrees of arrays.
      args, kwargs: its arguments.

    Example:
      >>> from ricci_lax import sin
      >>> print_saved_residuals(lambda x: sin(x) * 2.0, 1.0)  # doctest: +ELLIPSIS
      float32[] output of cos from ...
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {origin}")
