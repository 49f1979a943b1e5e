"""Residuals of reverse mode: listed, or passed by ``fwd_and_bwd`` to the backward pass."""

from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, check_distinct, linearize_flat, tape_to_jaxpr, vjp
from ricci_ir import PyTree, api_boundary, disable_jit_state, staged_call
from ricci_lax.control_flow._bodies import function_name, leaf_avals, trace_body
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten

from ._checkpoint import described

__all__ = ["fwd_and_bwd", "print_saved_residuals", "saved_residuals"]


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
    return [(aval, origin) for aval, origin, _ in _residuals(f, args, kwargs)]


def _residuals(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[ir.AbstractValue, str, bool]]:
    """The residuals: their types, their origins, and whether they are in the host's memory."""
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
        # Literals that the linear equations read are residuals as well, although none is stored.
        atoms = [atom for eqn in linear.eqns for atom in eqn.invars]
        literals.extend(atom.aval for atom in atoms if type(atom) is ir.Literal)
        return [*stored, *linear.consts]

    info = ir.DebugInfo("saved_residuals", function_name(f), tuple(names))
    jaxpr = ir.trace_to_jaxpr(residuals, avals, info)
    on_host = ir.results_on_host(jaxpr, ())
    sorted_residuals = sorted(
        (
            (*_origin(jaxpr, atom, names), atom.aval, hosted)
            for atom, hosted in zip(jaxpr.outvars, on_host, strict=True)
        ),
        key=_order,
    )
    return [
        *((aval, "from a literal", False) for aval in literals),
        *((aval, origin, hosted) for _, origin, aval, hosted in sorted_residuals),
    ]


def _order(entry: tuple[int, str, ir.AbstractValue, bool]) -> int:
    return entry[0]


def _origin(jaxpr: ir.Jaxpr, atom: ir.Atom, names: list[str]) -> tuple[int, str]:
    """The position of a value in a jaxpr, by which residuals are sorted, and its origin."""
    # Positions count the arguments, then the equations; constants are before both.
    for i, (var, name) in enumerate(zip(jaxpr.invars, names, strict=True)):
        if var is atom:
            return i, f"from the argument {name}"
    for i, eqn in enumerate(jaxpr.eqns, len(names)):
        if any(var is atom for var in eqn.outvars):
            return i, described(eqn)
    return -1, "from a constant"


def print_saved_residuals(f: Callable[..., Any], *args: ir.PyTree, **kwargs: object) -> None:
    """Print the residuals of a function, one per line: the type, the memory and the origin.

    Args:
      f: a function of pytrees of arrays.
      args, kwargs: its arguments.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.ad_checkpoint import print_saved_residuals
      >>> print_saved_residuals(jnp.sin, 1.0)
      f32[] output of cos from ...
    """
    for aval, origin, on_host in _residuals(f, args, kwargs):
        text = aval.str_short(short_dtypes=True)
        print(text.replace("[", "<host>[", 1) if on_host else text, origin)


def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of a function, to be called one after the other.

    Unlike ``vjp``, it traces the function once for all calls with arguments of the same types.

    Args:
      fun: a function of pytrees of arrays.
      argnums: the position(s) of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.
      jitted: whether each pass is compiled.

    Returns:
      ``(fwd, bwd)``. ``fwd`` takes the arguments, those at ``argnums`` by position, and returns
      ``(fun(*args, **kwargs), residuals)``, followed by aux if ``has_aux``. ``bwd(residuals, ct)``
      takes a cotangent like the value and returns that of the argument at ``argnums``, or a tuple
      of them for several.

    Raises:
      ValueError: when called, if an argument at ``argnums`` was not given by position.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> fwd, bwd = ricci.fwd_and_bwd(lambda w, x: jnp.dot(w, x), argnums=(0, 1))
      >>> y, residuals = fwd(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
      >>> float(y), [ct.tolist() for ct in bwd(residuals, 1.0)]
      (11.0, [[3.0, 4.0], [1.0, 2.0]])

    See also:
      ``vjp``, ``value_and_grad``.
    """
    one = isinstance(argnums, int)
    positions = [index(n) for n in ((argnums,) if isinstance(argnums, int) else argnums)]

    @wraps(fun)
    def forward(args: Sequence[PyTree], kwargs: dict[str, PyTree]) -> tuple[Any, ...]:
        def chosen(*values: PyTree) -> PyTree:
            full = list(args)
            for position, value in zip(positions, values, strict=True):
                full[position] = value
            return fun(*full, **kwargs)

        return vjp(chosen, *(args[n] for n in positions), has_aux=has_aux)

    def backward(residuals: Callable[[Any], tuple[Any, ...]], ct: PyTree) -> PyTree:
        cts = residuals(ct)
        return cts[0] if one else cts

    stage = _staged if jitted else lambda f: f
    fwd_pass, bwd_pass = stage(forward), stage(backward)

    @wraps(fun)
    @api_boundary
    def fwd(*args: PyTree, **kwargs: PyTree) -> tuple[Any, ...]:
        for position in positions:
            if not -len(args) <= position < len(args):
                raise ValueError(
                    f"fwd_and_bwd: argnums={position} is out of bounds: the function was called "
                    f"with {len(args)} positional arguments. Pass the arguments by position."
                )
        check_distinct("fwd_and_bwd", positions, [p % len(args) for p in positions])
        return fwd_pass(args, kwargs)

    return fwd, api_boundary(bwd_pass)


def _staged(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one staged call."""

    def call(*args: PyTree) -> PyTree:
        # Without jit the function runs operation by operation, so that it can be debugged.
        if disable_jit_state.value:
            return fun(*args)
        leaves, tree = tree_flatten(args)
        avals = leaf_avals("fwd_and_bwd", lambda: argument_paths(args, {}, None), leaves)
        body = trace_body("fwd_and_bwd", fun, tree, avals, allowed=None)
        name = getattr(fun, "__name__", "fwd_and_bwd")
        outs = staged_call.bind(body.jaxpr, name, (*body.consts, *leaves))
        return tree_unflatten(body.out_tree, outs)

    return call
