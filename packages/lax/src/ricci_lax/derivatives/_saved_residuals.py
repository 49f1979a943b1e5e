"""The residuals that reverse-mode differentiation stores for the backward pass."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, linearize_flat, tape_to_jaxpr
from ricci_lax.control_flow._bodies import function_name, leaf_avals
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten

from ._checkpoint import described

__all__ = ["print_saved_residuals", "saved_residuals"]


def saved_residuals(
    f: Callable[..., Any], *args: ir.PyTree, **kwargs: object
) -> list[tuple[ir.AbstractValue, str]]:
    """The residuals that are stored for the backward pass, by type and origin.

    Args:
      f: a function of pytrees of arrays.
      args, kwargs: its arguments, or anything with a shape and a dtype in place of arrays.

    Returns:
      For each residual, its type and its origin: literals, constants and arguments first, then
      results of operations in program order.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_lax import saved_residuals
      >>> found = saved_residuals(lambda x: jnp.sin(x) * x, jnp.ones(3))
      >>> for aval, origin in found:
      ...     print(aval.str_short(), origin)
      float32[3] from the argument x
      float32[3] output of sin from ...
      float32[3] output of cos from ...
    """
    leaves, tree = tree_flatten((args, kwargs))
    names = argument_paths(args, kwargs, f)
    avals = leaf_avals("saved_residuals", lambda: names, leaves)
    nonzeros = [ir.issubdtype(a.dtype, np.inexact) for a in avals]

    def run(*flat: ir.Array) -> list[Any]:
        positional, named = tree_unflatten(tree, flat)
        return tree_flatten(f(*positional, **named))[0]

    literals: list[ir.AbstractValue] = []

    def residuals(*flat: ir.Array) -> list[Any]:
        tape, in_tangents, _, tangents = linearize_flat(run, flat, nonzeros)
        out_vars = [t.atom for t in tangents if type(t) is not Zero]
        linear, stored = tape_to_jaxpr(
            tape, [t.atom for t in in_tangents], out_vars, ir.context.trace
        )
        atoms = [atom for eqn in linear.eqns for atom in eqn.invars]
        literals.extend(atom.aval for atom in atoms if type(atom) is ir.Literal)
        return [*stored, *linear.consts]

    info = ir.DebugInfo("saved_residuals", function_name(f), tuple(names))
    jaxpr = ir.trace_to_jaxpr(residuals, avals, info)
    sorted_residuals = sorted(
        ((*_origin(jaxpr, atom, names), atom.aval) for atom in jaxpr.outvars), key=_order
    )
    return [
        *((aval, "from a literal") for aval in literals),
        *((aval, origin) for _, origin, aval in sorted_residuals),
    ]


def _order(entry: tuple[int, str, ir.AbstractValue]) -> int:
    return entry[0]


def _origin(jaxpr: ir.Jaxpr, atom: ir.Atom, names: list[str]) -> tuple[int, str]:
    """The position of a value in a jaxpr, by which residuals are sorted, and its origin."""
    for i, (var, name) in enumerate(zip(jaxpr.invars, names, strict=True)):
        if var is atom:
            return i, f"from the argument {name}"
    for i, eqn in enumerate(jaxpr.eqns, len(names)):
        if any(var is atom for var in eqn.outvars):
            return i, described(eqn)
    return -1, "from a constant"


def print_saved_residuals(f: Callable[..., Any], *args: ir.PyTree, **kwargs: object) -> None:
    """Print the residuals of a function, one per line: the type and the origin.

    Args:
      f: a function of pytrees of arrays.
      args, kwargs: its arguments.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.ad_checkpoint import print_saved_residuals
      >>> print_saved_residuals(jnp.sin, 1.0)
      f32[] output of cos from ...
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {origin}")
