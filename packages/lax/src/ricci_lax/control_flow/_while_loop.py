"""``while_loop``: the public loop with a condition, and its form with a bound."""

from collections.abc import Callable, Sequence
from itertools import count, islice
from operator import index
from typing import Any, cast

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.custom._jvp import custom_jvp
from ricci_lax.elementwise._comparison import bitwise_and, lt
from ricci_lax.elementwise._linear import add
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten

from . import _bodies as bodies
from ._cond import cond
from ._loops import scan
from ._while import bind_while

__all__ = ["while_loop"]


def while_loop[T](
    cond_fun: Callable[[T], ir.ArrayLike],
    body_fun: Callable[[T], T],
    init_val: T,
    *,
    max_steps: int | None = None,
) -> T:
    """Apply ``body_fun`` to a carry repeatedly, as long as ``cond_fun`` of it is true.

    Args:
      cond_fun: from the carry to a boolean scalar.
      body_fun: from the carry to the next, of the same structure, shapes and dtypes.
      init_val: the carry to start from, a pytree of arrays.
      max_steps: the largest number of steps, an extension beyond JAX. A loop with a bound is
        differentiable in reverse mode, too.

    Returns:
      The first carry for which ``cond_fun`` is false, or that after ``max_steps`` steps, a pytree
      like ``init_val``.

    Raises:
      TypeError: if ``body_fun`` changes the structure or a type of the carry, or ``cond_fun``
        returns something else than a boolean scalar, or ``max_steps`` is not an int.
      ValueError: if ``max_steps`` is negative.

    Example:
      A fixed point, up to a tolerance. The number of steps is bounded, as it should be where a loop
      may not converge.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def fixed_point(f, x, tolerance=1e-5):
      ...     unsettled = lambda carry: jnp.abs(carry[1] - carry[0]) > tolerance
      ...     advance = lambda carry: (carry[1], f(carry[1]))
      ...     return lax.while_loop(unsettled, advance, (x, f(x)), max_steps=100)[1]
      >>> round(float(fixed_point(jnp.cos, 1.0)), 3)
      0.739
      >>> import ricci
      >>> slope = ricci.grad(lambda a: fixed_point(lambda x: jnp.cos(a * x), 1.0))(1.0)
      >>> round(float(slope), 2)
      -0.3

    Notes:
      Forward-mode differentiation works. Reverse mode with respect to values that change in a loop
      without ``max_steps`` raises an error, since the number of residuals is not known. With it
      the residuals of ``max_steps`` steps are stored; ``checkpoint`` around ``body_fun`` stores
      the carries alone. ``custom_root`` and ``custom_linear_solve`` differentiate iterations until
      convergence without them.

      Under ``vmap`` with a condition that differs between examples, the loop runs until the last
      has ended; the others keep their values.

    See also:
      ``scan``, ``fori_loop``.
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("while_loop: cond_fun and body_fun must be functions of the carry.")
    if max_steps is not None:
        max_steps = _checked_bound(max_steps)
    init_val = ir.parted(init_val)
    leaves, tree = tree_flatten(init_val)
    if ir.disable_jit_state.value and not any(isinstance(x, ir.Tracer) for x in leaves):
        carry = tree_unflatten(tree, map(ir.as_array, leaves))
        steps = count() if max_steps is None else range(max_steps)
        for _ in steps:
            if not cond_fun(carry):
                break
            carry = body_fun(carry)
        return carry
    _, args_tree = tree_flatten((init_val,))
    names = lambda: argument_paths((init_val,), {}, body_fun)
    avals = bodies.leaf_avals("while_loop", names, leaves)
    body, avals = bodies.trace_carry("while_loop", body_fun, args_tree, avals, (), len(leaves))
    bodies.check_carry("while_loop", body_fun, names, tree, body.out_tree, avals, body.out_avals)
    condition = bodies.trace_body("while_loop", cond_fun, args_tree, avals)
    _check_condition(cond_fun, condition)
    carry = bodies.initial_carry(leaves, avals)
    if max_steps is None:
        outs = bind_while(condition.jaxpr, condition.consts, body.jaxpr, body.consts, carry)
    else:
        outs = _bind_bounded(condition, body, carry, max_steps)
    return tree_unflatten(tree, outs)


def _checked_bound(max_steps: object) -> int:
    try:
        bound = index(cast(Any, max_steps))
    except TypeError:
        raise TypeError(
            f"while_loop: max_steps must be an int that is known while tracing, got {max_steps!r}."
        ) from None
    if not 0 <= bound < 2**31:
        raise ValueError(f"while_loop: max_steps must be from 0 to 2**31 - 1, got {bound}.")
    return bound


def _bind_bounded(
    condition: bodies.Body, body: bodies.Body, carry: Sequence[Any], max_steps: int
) -> list[Any]:
    """Run a loop of at most ``max_steps`` steps; returns the last carry.

    It runs as a loop that counts its steps. Its derivative is that of a scan whose steps are
    skipped once the condition is false, so that there is a residual for each.
    """

    def split(args: tuple[Any, ...]) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
        remaining = iter(args)
        cond_consts = list(islice(remaining, len(condition.consts)))
        consts = list(islice(remaining, len(body.consts)))

        def goes_on(state: tuple[Any, list[Any]]) -> ir.Array:
            steps, values = state
            (unfinished,) = ir.eval_jaxpr(condition.jaxpr, (), *cond_consts, *values)
            return bitwise_and(lt(steps, np.int32(max_steps)), unfinished)

        def step(state: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
            steps, values = state
            return add(steps, np.int32(1)), ir.eval_jaxpr(body.jaxpr, (), *consts, *values)

        return goes_on, step, (np.int32(0), list(remaining))

    # Without derivatives the loop ends when its condition is false.
    def counted(*args: Any) -> list[Any]:
        return while_loop(*split(args))[1]

    # A scan has a derivative in reverse, and always takes ``max_steps`` steps: those after the end
    # return the state as it is.
    def scanned(*args: Any) -> list[Any]:
        goes_on, step, start = split(args)
        advance = lambda state, _: (cond(goes_on(state), step, lambda same: same, state), None)
        return scan(advance, start, None, length=max_steps)[0][1]

    loop = custom_jvp(counted)
    loop.defjvp(lambda primals, tangents: ad.jvp(scanned, primals, tangents))
    return loop(*condition.consts, *body.consts, *carry)


def _check_condition(fun: Callable, condition: bodies.Body) -> None:
    avals = condition.out_avals
    if len(avals) == 1 and avals[0].shape == () and avals[0].dtype == np.bool_:
        return
    result = ", ".join(a.str_short() for a in avals) or "nothing"
    if condition.out_tree.num_leaves != 1 or condition.out_tree.num_nodes != 1:
        result = f"{condition.out_tree}"
    raise TypeError(
        f"while_loop: {bodies.function_name(fun)} must return a boolean scalar, whether to "
        f"continue, but it returned {result}. Compare, and reduce with .any() or .all()."
    )
