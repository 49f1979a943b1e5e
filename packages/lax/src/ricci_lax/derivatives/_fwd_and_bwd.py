"""``fwd_and_bwd``: the forward and backward pass of reverse mode as two functions."""

from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from typing import Any

from ricci_autodiff import vjp
from ricci_ir import PyTree, api_boundary, disable_jit_state, staged_call
from ricci_lax.control_flow._bodies import leaf_avals, trace_body
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten

__all__ = ["fwd_and_bwd"]


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
      ``(fwd, bwd)``. ``fwd`` takes the arguments and returns ``(fun(*args), residuals)``, followed
      by aux if ``has_aux``. ``bwd(residuals, ct)`` takes a cotangent like the value and returns
      that of the argument at ``argnums``, or a tuple of them for several.

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
    def forward(*args: PyTree) -> tuple[Any, ...]:
        def chosen(*values: PyTree) -> PyTree:
            full = list(args)
            for position, value in zip(positions, values, strict=True):
                full[position] = value
            return fun(*full)

        return vjp(chosen, *(args[n] for n in positions), has_aux=has_aux)

    def backward(residuals: Callable[[Any], tuple[Any, ...]], ct: PyTree) -> PyTree:
        cts = residuals(ct)
        return cts[0] if one else cts

    stage = _staged if jitted else lambda f: f
    fwd_pass, bwd_pass = stage(forward), stage(backward)

    @wraps(fun)
    @api_boundary
    def fwd(*args: PyTree, **kwargs: object) -> tuple[Any, ...]:
        for position in positions:
            if not -len(args) <= position < len(args):
                raise ValueError(
                    f"fwd_and_bwd: argnums={position} is out of bounds: the function was called "
                    f"with {len(args)} positional arguments. Pass the arguments by position."
                )
        if kwargs:
            raise TypeError(
                f"fwd_and_bwd: pass arguments by position, not {sorted(kwargs)} by keyword."
            )
        return fwd_pass(*args)

    return fwd, api_boundary(bwd_pass)


def _staged(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one staged call."""

    def call(*args: PyTree) -> PyTree:
        if disable_jit_state.value:
            return fun(*args)
        leaves, tree = tree_flatten(args)
        avals = leaf_avals("fwd_and_bwd", lambda: argument_paths(args, {}, None), leaves)
        body = trace_body("fwd_and_bwd", fun, tree, avals, allowed=None)
        name = getattr(fun, "__name__", "fwd_and_bwd")
        outs = staged_call.bind(body.jaxpr, name, (*body.consts, *leaves))
        return tree_unflatten(body.out_tree, outs)

    return call
