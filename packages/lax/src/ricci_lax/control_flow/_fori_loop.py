"""``fori_loop``: a loop over a range of integers."""

from collections.abc import Callable
from typing import Any, overload

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_lax.elementwise import add_p, lt_p
from ricci_lax.elementwise._conversion import converted

from . import _bodies as bodies
from ._loops import bind_scan, checked_unroll
from ._while import bind_while

__all__ = ["fori_loop"]


@overload
def fori_loop[T](
    lower: bodies.IntegerScalar | float,
    upper: bodies.IntegerScalar | float,
    body_fun: Callable[[ir.Array, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
) -> T: ...
# The body may declare its index as an int.
@overload
def fori_loop[T](
    lower: bodies.IntegerScalar | float,
    upper: bodies.IntegerScalar | float,
    body_fun: Callable[[Any, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
) -> T: ...
# A number as carry becomes an array.
@overload
def fori_loop(
    lower: bodies.IntegerScalar | float,
    upper: bodies.IntegerScalar | float,
    body_fun: Callable[[Any, ir.Array], ir.Array],
    init_val: ir.ArrayLike,
    *,
    unroll: int | bool | None = None,
) -> ir.Array: ...
def fori_loop[T](  # pyright: ignore[reportInconsistentOverload]  # as a number is not of type T
    lower: bodies.IntegerScalar | float,
    upper: bodies.IntegerScalar | float,
    body_fun: Callable[[Any, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
) -> T:
    """Apply ``body_fun(i, carry)`` for ``i`` from ``lower`` up to, not including, ``upper``.

    With bounds known at trace time the loop is a ``scan``, which reverse mode can differentiate;
    otherwise it is a ``while_loop``.

    Args:
      lower, upper: integer scalars, or floats of one dtype. Where both are known while tracing,
        floats are rounded towards zero, and the index is a weakly typed integer; else the index has
        the dtype of the bounds, and is as weak as the lower one.
      body_fun: from the index and the carry to the next carry, of the same structure, shapes and
        dtypes.
      init_val: the carry to start from, a pytree of arrays.
      unroll: how many iterations make one step of the compiled loop; ``True`` for all. Only with
        known bounds.

    Returns:
      The carry at the end, a pytree like ``init_val``; ``init_val`` itself if ``upper <= lower``.

    Raises:
      TypeError: if a bound is not a real scalar, their dtypes differ, or ``body_fun`` changes the
        structure or a type of the carry.
      ValueError: if ``unroll`` is neither a bool nor 1 and a bound is traced.

    Example:
      Newton's method for a square root, and its derivative:

      >>> import ricci
      >>> from ricci import lax
      >>> def root(a):
      ...     return lax.fori_loop(0, 10, lambda i, x: (x + a / x) / 2, a)
      >>> round(float(root(9.0)), 4), round(float(ricci.grad(root)(9.0)), 4)
      (3.0, 0.1667)

    Notes:
      ``body_fun`` gets the index first, and returns the carry alone. Arrays are changed by
      ``carry.at[i].set(...)``; the index is traced, so that Python lists cannot be indexed with it.

      In a jitted function a bound that is an argument is traced: the loop is a ``while_loop``, and
      ``grad`` raises an error. Make the bound static, or use ``scan`` and mask excess iterations.

    See also:
      ``scan``, which slices arrays and collects results.
    """
    if not callable(body_fun):
        raise TypeError("fori_loop: body_fun must be a function of the index and the carry.")
    static = not (isinstance(lower, ir.Tracer) or isinstance(upper, ir.Tracer))
    kinds = _kinds_of_bounds(lower, upper)
    if static:
        lower, upper = (x if ir.is_symbolic_dim(x) else int(x) for x in (lower, upper))
        kinds = [(ir.python_scalar_dtype(int), True)] * 2
    elif kinds[0][0] == ir.BOOL:
        raise TypeError("fori_loop: booleans as bounds must be known while tracing.")
    if unroll is not None:
        checked_unroll("fori_loop", unroll)
        # Steps of a loop of unknown length run one by one, as False, True and 1 allow.
        if not static and unroll is not False and unroll != 1:
            raise ValueError("fori_loop: unroll needs bounds that are known while tracing.")
    init_val = ir.parted(init_val)
    leaves, tree = pytree.tree_flatten(init_val)
    if ir.disable_jit_state.value and static and not any(isinstance(x, ir.Tracer) for x in leaves):
        for i in range(int(lower), int(upper)):
            init_val = body_fun(i, init_val)
        return init_val
    # The loop is traced once: as a ``scan`` if its length is known, which has a reverse-mode
    # derivative, otherwise as a ``while``.
    start, stop = (_bound(x, *kind) for x, kind in zip((lower, upper), kinds, strict=True))
    names = lambda: pytree.argument_paths((start, init_val), {}, body_fun)[1:]
    avals = bodies.leaf_avals("fori_loop", names, leaves)
    _, args_tree = pytree.tree_flatten((start, init_val))
    counter = ir.get_aval(start)
    body, avals = bodies.trace_carry(
        "fori_loop", body_fun, args_tree, avals, (), len(leaves), before=[counter]
    )
    bodies.check_carry("fori_loop", body_fun, names, tree, body.out_tree, avals, body.out_avals)
    carry = bodies.initial_carry(leaves, avals)
    if static:
        # An upper bound below the lower one means no steps.
        length = ir.max_dim(ir.as_size(upper) - ir.as_size(lower), 0)
        params = {
            "length": length,
            "reverse": False,
            "unroll": length if unroll is True else 1 if unroll is None else int(unroll),
            "_split_transpose": False,
        }
        # Derived jaxprs are cached on the jaxpr, so that a loop traced from the cache gives the
        # same step again, and no new program is compiled.
        step = body.jaxpr.derived("fori scan", lambda: _counting(body, counter))
        outs, _ = bind_scan(body._replace(jaxpr=step), [start, *carry], [], params)
        return pytree.tree_unflatten(tree, outs[1:])
    limit = ir.get_aval(stop)
    condition, step = body.jaxpr.derived(
        ("fori while", limit), lambda: _until(body, counter, limit)
    )
    outs = bind_while(condition, [], step, body.consts, [start, stop, *carry])
    return pytree.tree_unflatten(tree, outs[2:])


def _bound(x: bodies.IntegerScalar | float, dtype: np.dtype, weak: bool) -> ir.ArrayLike:
    """A bound, converted to the dtype of the loop's index."""
    if isinstance(x, ir.Tracer):
        return converted(x, dtype, weak)
    if ir.is_symbolic_dim(x):
        return converted(x, dtype, weak)
    if weak:
        return int(x) if ir.issubdtype(dtype, np.integer) else float(x)
    return ir.exact_scalar(x, dtype)


def _kinds_of_bounds(
    lower: bodies.IntegerScalar | float, upper: bodies.IntegerScalar | float
) -> list[tuple[np.dtype, bool]]:
    """The dtype and weak type of each bound in a loop; promoted unless the dtypes are equal."""
    pairs = []
    for name, bound in (("lower", lower), ("upper", upper)):
        try:
            aval = ir.get_aval(bound)
        except TypeError:
            raise TypeError(
                f"fori_loop: {name} must be a real scalar, got {bound!r:.60} of type "
                f"{type(bound).__name__}."
            ) from None
        if (
            aval.shape
            or ir.is_extended(aval.dtype)
            or ir.issubdtype(aval.dtype, np.complexfloating)
        ):
            raise TypeError(f"fori_loop: {name} must be a real scalar, got {aval.str_short()}.")
        pairs.append((aval.dtype, aval.weak_type))
    # A weakly typed integer, such as a Python int, takes the other bound's dtype.
    integers = all(ir.issubdtype(dtype, np.integer) for dtype, _ in pairs)
    compared = {dtype for dtype, weak in pairs if not (weak and integers)}
    if len(compared) > 1:
        raise TypeError(
            f"fori_loop: lower and upper must have one dtype, got {pairs[0][0]} and {pairs[1][0]}; "
            "convert one of them."
        )
    return pairs if pairs[0][0] == pairs[1][0] else [ir.lattice_result_type(*pairs)] * 2


def _counting(body: bodies.Body, counter: ir.AbstractValue) -> ir.Jaxpr:
    """A loop's body with the counter as part of the carry."""
    jaxpr = body.jaxpr
    # The body still reads the counter; the incremented one is the first part of the next carry.
    following = ir.Var(counter)
    i = jaxpr.invars[len(body.consts)]
    return jaxpr.replace(
        eqns=[_next(i, following), *jaxpr.eqns], outvars=[following, *jaxpr.outvars]
    )


def _next(i: ir.Var, following: ir.Var) -> ir.JaxprEqn:
    """The equation that increments the counter."""
    # A weakly typed counter has to stay so, as the carry may not change its type.
    one = ir.Literal(1 if i.aval.weak_type else i.aval.dtype.type(1), i.aval)
    return ir.JaxprEqn([i, one], [following], add_p, {})


def _until(
    body: bodies.Body, counter: ir.AbstractValue, limit: ir.AbstractValue
) -> tuple[ir.Jaxpr, ir.Jaxpr]:
    """The condition and the body of a loop whose carry begins with the counter and the bound."""
    jaxpr, count = body.jaxpr, len(body.consts)
    following, stop, test = ir.Var(counter), ir.Var(limit), ir.Var(ir.get_aval(np.bool_(True)))
    i = jaxpr.invars[count]
    step = jaxpr.replace(
        invars=[*jaxpr.invars[: count + 1], stop, *jaxpr.invars[count + 1 :]],
        eqns=[_next(i, following), *jaxpr.eqns],
        outvars=[following, stop, *jaxpr.outvars],
    )
    # The condition reads the bound, which makes it a part of the carry.
    args = [ir.Var(counter), ir.Var(limit), *(ir.Var(v.aval) for v in jaxpr.invars[count + 1 :])]
    condition = ir.Jaxpr([], args, [test], [ir.JaxprEqn(args[:2], [test], lt_p, {})])
    return condition, step
