"""The public loops of static length: ``scan``, ``fori_loop`` and ``map``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_batching import Axis, batch_jaxpr
from ricci_lax.elementwise import add_p, lt_p
from ricci_lax.elementwise._conversion import converted
from ricci_lax.shapes import concatenate, index_in_dim, slice
from ricci_lax.structure import expand_dims, reshape
from ricci_lax.structure._operand_types import array_aval, shape_of

from . import _bodies as bodies
from ._scan import scan_p
from ._while import bind_while

__all__ = ["fori_loop", "map", "scan"]


def scan[C, X, Y](
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[C, Y]:
    """Thread a carry through a function applied along the leading axis of arrays.

    Each call returns the carry of the next call, which takes the next slice; the other results of
    the calls are stacked. All of them are one compiled loop, whose size does not grow with the
    number of iterations. It computes the same as this Python loop::

        ys = []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    Args:
      f: from the carry and a slice of ``xs`` to the next carry, of the same structure, shapes and
        dtypes, and a pytree of arrays to collect.
      init: the carry to start from, a pytree of arrays.
      xs: a pytree of arrays of shape ``(length, ...)``; ``None`` if there is nothing to slice.
      length: how many iterations; needed only where ``xs`` has no arrays.
      reverse: go from the last slice to the first; the collected results have the order of ``xs``.
      unroll: how many iterations make one step of the compiled loop; ``True`` for all.

    Returns:
      The last carry, with the structure and types of ``init``, and the collected results: a pytree
      like the second result of ``f``, each array of shape ``(length, ...)``.

    Raises:
      TypeError: if ``f`` returns no pair, or changes the structure or a type of the carry.
      ValueError: if the arrays of ``xs`` differ in length, or there are none and no ``length``.

    Example:
      A falling ball: the carry is its position and velocity, and the positions are collected. The
      whole simulation has a derivative.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def step(state, force):
      ...     position, velocity = state
      ...     velocity = velocity + 0.5 * force
      ...     position = position + 0.5 * velocity
      ...     return (position, velocity), position
      >>> forces = jnp.full(4, -1.0)
      >>> (position, velocity), path = lax.scan(step, (10.0, 2.0), forces)
      >>> path.tolist()
      [10.75, 11.25, 11.5, 11.5]
      >>> final = lambda velocity: lax.scan(step, (10.0, velocity), forces)[0][0]
      >>> float(ricci.grad(final)(2.0))
      2.0

    Notes:
      The carry keeps its types: ``jnp.zeros(3, int)`` as ``init`` of a carry to which floats are
      added raises a TypeError that names the leaf. A Python number is promoted instead.

      Reverse mode stores the residuals of every iteration. ``checkpoint`` around ``f`` stores the
      carries alone, and computes the rest again.

      For a count without arrays pass ``xs=None`` and ``length``; for a loop whose length is not
      known ahead, ``while_loop``.

    See also:
      ``fori_loop``, ``associative_scan`` (parallel, for associative functions), ``lax.map`` (no
      carry).
    """
    if not callable(f):
        raise TypeError(f"scan: f must be a function of the carry and a slice, got {f!r:.60}.")
    unroll = _unroll("scan", unroll)
    carry, carry_tree = pytree.tree_flatten(init)
    leaves, xs_tree = pytree.tree_flatten(xs)
    names = lambda: pytree.argument_paths((init, xs), {}, f)
    xs_names = lambda: names()[len(carry) :]
    length = _length("scan", xs_names, leaves, length)
    if ir.disable_jit_state.value and not any(isinstance(x, ir.Tracer) for x in (*carry, *leaves)):
        return _run(f, init, leaves, xs_tree, length, reverse)
    avals = bodies.leaf_avals("scan", names, carry)
    slices = [a.remove_dimension(0) for a in bodies.leaf_avals("scan", xs_names, leaves)]
    ir.check_distinct(f"scan: {bodies.function_name(f)}", [*carry, *leaves], names)
    _, tree = pytree.tree_flatten((init, xs))
    body, avals = bodies.trace_carry("scan", f, tree, avals, slices, len(carry))
    ys_tree = _check_pair(f, body, carry_tree, names, avals)
    params = {
        "length": length,
        "reverse": bool(reverse),
        "unroll": length if unroll is True else unroll,
        "_split_transpose": bool(_split_transpose),
    }
    last, ys = bind_scan(body, bodies.initial_carry(carry, avals), leaves, params)
    return pytree.tree_unflatten(carry_tree, last), pytree.tree_unflatten(ys_tree, ys)


def _unroll(what: str, unroll: object) -> int | bool:
    if unroll is True:
        return True
    if not isinstance(unroll, int) or unroll < 0:
        raise ValueError(f"{what}: unroll must be a bool or a non-negative int, got {unroll!r}.")
    return 1 if unroll is False else unroll


def _length(what: str, names: bodies.Names, leaves: Sequence[Any], length: int | None) -> int:
    lengths: dict[int, int] = {}
    for i, leaf in enumerate(leaves):
        try:
            shape = shape_of(leaf)
        except TypeError:
            bodies.leaf_avals(what, names, leaves)
            raise
        if not shape:
            kind = IndexError if what == "scan" and hasattr(leaf, "shape") else ValueError
            raise kind(
                f"{what}: {names()[i]} is a scalar, which has no leading axis to scan over. Close "
                "over it, or put it into the carry."
            )
        sharding = array_aval(leaf).type_sharding
        if sharding is not None and sharding.parts[0]:
            raise ValueError(
                f"{what}: the leading axis of {names()[i]}, of type "
                f"{array_aval(leaf).str_short(True)}, is sharded over the mesh, and the 0th "
                "dimension of all xs should be replicated: its slices are taken one after another. "
                "Move it with jax.sharding.reshard."
            )
        lengths.setdefault(shape[0], i)
    if len(lengths) > 1:
        sizes = ", ".join(f"{names()[i]} has {size}" for size, i in lengths.items())
        raise ValueError(
            f"{what}: all arrays of xs must have leading axes of one size, but {sizes}."
        )
    if length is None:
        if not lengths:
            raise ValueError(
                f"{what}: xs holds no arrays, so that the number of iterations is not known. Pass "
                "length=."
            )
        return next(iter(lengths))
    length = ir.as_size(length)
    if lengths and length not in lengths:
        size, i = next(iter(lengths.items()))
        raise ValueError(
            f"{what}: length={length}, but the leading axis of {names()[i]} has size {size}. Leave "
            "length out, or slice the arrays."
        )
    return length


def _check_pair(
    f: Callable,
    body: bodies.Body,
    carry_tree: pytree.PyTreeDef,
    names: bodies.Names,
    avals: Sequence[ir.ShapedArray],
) -> pytree.PyTreeDef:
    """Check that a scan's body returns a pair like the carry; return the other's structure."""
    out = body.out_tree
    node = out.node_data()
    children = pytree.treedef_children(out) if node is not None and node[0] in (tuple, list) else ()
    if len(children) != 2:
        raise TypeError(
            f"scan: {bodies.function_name(f)} must return a pair, the next carry and what to "
            f"collect (None for nothing), but it returned {out}."
        )
    carried, collected = children
    outs = body.out_avals[: carried.num_leaves]
    bodies.check_carry("scan", f, names, carry_tree, carried, avals, outs)
    return collected


def _run(
    f: Callable,
    carry: ir.PyTree,
    leaves: Sequence[Any],
    tree: pytree.PyTreeDef,
    length: int,
    reverse: bool,
) -> tuple[ir.PyTree, ir.PyTree]:
    """Run the loop in Python, for debugging."""
    ys = [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        slices = [index_in_dim(x, i, keepdims=False) for x in leaves]
        carry, ys[i] = f(carry, pytree.tree_unflatten(tree, slices))
    if not length:
        raise ValueError("scan: with jit disabled a loop of no iterations has no results.")
    stack = lambda *rows: concatenate([expand_dims(row, (0,)) for row in rows], 0)
    return carry, pytree.tree_map(stack, *ys)


# Binding


def bind_scan(
    body: bodies.Body, carry: Sequence[Any], xs: Sequence[Any], params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """Bind the primitive; returns the last carry and the collected results.

    Results that the body only forwards are left out of the loop: a part of the carry that never
    changes becomes a constant, and a collected result that is a scanned slice is that array.
    """
    jaxpr, fixed, forwarded = body.jaxpr.derived(
        ("without forwarding", len(body.consts), len(carry)),
        lambda: _without_forwarding(body.jaxpr, len(body.consts), len(carry)),
    )
    moving = [x for i, x in enumerate(carry) if i not in fixed]
    consts = [*body.consts, *(x for i, x in enumerate(carry) if i in fixed)]
    outs = iter(
        scan_p.bind(
            *consts,
            *moving,
            *xs,
            jaxpr=jaxpr,
            num_consts=len(consts),
            num_carry=len(moving),
            **params,
        )
    )
    last = [x if i in fixed else next(outs) for i, x in enumerate(carry)]
    return last, [next(outs) if i is None else ir.as_result(ir.as_array(xs[i])) for i in forwarded]


def _without_forwarding(
    jaxpr: ir.Jaxpr, num_consts: int, num_carry: int
) -> tuple[ir.Jaxpr, frozenset[int], tuple[int | None, ...]]:
    """A body without the results that it only forwards.

    Returns:
      The body; which parts of the carry never change, now its constants; and for each collected
      result the scanned array that it equals, or ``None``.
    """
    start = num_consts + num_carry
    consts, carry, xs = (
        jaxpr.invars[:num_consts],
        jaxpr.invars[num_consts:start],
        jaxpr.invars[start:],
    )
    carry_out, ys = jaxpr.outvars[:num_carry], jaxpr.outvars[num_carry:]
    # By identity of variables: such a body returns its argument itself.
    fixed = frozenset(i for i in range(num_carry) if carry_out[i] is carry[i])
    scanned = {id(v): i for i, v in enumerate(xs)}
    forwarded = tuple(scanned.get(id(v)) for v in ys)
    moving = [i for i in range(num_carry) if i not in fixed]
    return (
        jaxpr.replace(
            invars=[*consts, *(carry[i] for i in sorted(fixed)), *(carry[i] for i in moving), *xs],
            outvars=[
                *(carry_out[i] for i in moving),
                *(v for v, i in zip(ys, forwarded, strict=True) if i is None),
            ],
        ),
        fixed,
        forwarded,
    )


# fori_loop


def fori_loop[T](
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
      ValueError: if ``unroll`` is given and a bound is traced.

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
        _unroll("fori_loop", unroll)
        if not static:
            raise ValueError("fori_loop: unroll needs bounds that are known while tracing.")
    leaves, tree = pytree.tree_flatten(init_val)
    if ir.disable_jit_state.value and static and not any(isinstance(x, ir.Tracer) for x in leaves):
        for i in range(int(lower), int(upper)):
            init_val = body_fun(i, init_val)
        return init_val
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
        length = ir.max_dim(ir.as_size(upper) - ir.as_size(lower), 0)
        params = {
            "length": length,
            "reverse": False,
            "unroll": length if unroll is True else 1 if unroll is None else int(unroll),
            "_split_transpose": False,
        }
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


# map


def map[R](f: Callable[[Any], R], xs: ir.PyTree, *, batch_size: int | None = None) -> R:
    """Apply a function to each slice along the leading axis of arrays, one after another.

    It returns the same as ``vmap(f)(xs)``, with the memory of one, or of ``batch_size`` slices.

    Args:
      f: from a slice of ``xs`` to a pytree of arrays. It is traced in each call, so that changes of
        variables that it closes over are seen.
      xs: a pytree of arrays of shape ``(length, ...)``.
      batch_size: how many slices to work on at once, with ``vmap``; one at a time by default.

    Returns:
      A pytree like the result of ``f``, of arrays of shape ``(length, ...)``.

    Raises:
      TypeError: if ``f`` is not callable or ``batch_size`` is not an integer.
      ValueError: if the arrays of ``xs`` differ in length, or there are none.

    Example:
      Distances of all pairs, two rows at a time. The last batch may be smaller.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> points = jnp.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
      >>> distances = lambda p: jnp.sqrt(jnp.sum((points - p) ** 2, axis=1))
      >>> lax.map(distances, points, batch_size=2).tolist()
      [[0.0, 5.0, 10.0], [5.0, 0.0, 5.0], [10.0, 5.0, 0.0]]

    Notes:
      Unlike the built-in ``map`` it takes one pytree: for several arrays pass a tuple, which ``f``
      unpacks. Without ``batch_size`` the iterations are not parallel, and slow if each is small.

    See also:
      ``vmap``, ``scan``.
    """
    if not callable(f):
        raise TypeError(f"map: f must be a function of a slice, got {f!r:.60}.")
    leaves, tree = pytree.tree_flatten(xs)
    names = lambda: pytree.argument_paths((xs,), {}, f)
    length = _length("map", names, leaves, None)
    if ir.disable_jit_state.value and not any(isinstance(x, ir.Tracer) for x in leaves):
        return _run(lambda _, x: (None, f(x)), None, leaves, tree, length, False)[1]
    slices = [a.remove_dimension(0) for a in bodies.leaf_avals("map", names, leaves)]
    ir.check_distinct(f"map: {bodies.function_name(f)}", leaves, names)
    body = bodies.trace_body("map", f, pytree.tree_flatten((xs,))[1], slices, retrace=True)
    if batch_size:
        results = _map_batches(body, leaves, length, ir.min_dim(batch_size, ir.max_dim(length, 1)))
    else:
        results = _map_scan(body, leaves, length)
    return pytree.tree_unflatten(body.out_tree, results)


def _map_scan(body: bodies.Body, xs: Sequence[Any], length: int) -> list[Any]:
    params = {"length": length, "reverse": False, "unroll": 1, "_split_transpose": False}
    return bind_scan(body, [], xs, params)[1]


def _map_batches(body: bodies.Body, xs: Sequence[Any], length: int, size: int) -> list[Any]:
    """Map over batches of ``size`` slices in a loop, then over the remaining slices at once."""
    batches, remaining = divmod(length, size)
    whole = length - remaining
    blocks = [reshape(_rows(x, 0, whole), (batches, size, *shape_of(x)[1:])) for x in xs]
    left = [_rows(x, whole, length) for x in xs] if remaining != 0 else []
    results = _map_scan(body._replace(jaxpr=_batched(body, size)), blocks, batches)
    last = []
    if remaining:
        jaxpr = _batched(body, remaining)
        last = ir.eval_jaxpr(jaxpr, jaxpr.consts, *body.consts, *left)
    results = [reshape(y, (whole, *shape_of(y)[2:])) for y in results]
    return [concatenate(pair, 0) for pair in zip(results, last, strict=True)] if last else results


def _rows(x: ir.Array, start: int, stop: int) -> ir.Array:
    shape = shape_of(x)
    return slice(x, (start, *(0 for _ in shape[1:])), (stop, *shape[1:]))


def _batched(body: bodies.Body, size: int) -> ir.Jaxpr:
    jaxpr, count = body.jaxpr, len(body.consts)
    dims = (*(None,) * count, *(0,) * (len(jaxpr.invars) - count))
    return batch_jaxpr(jaxpr, Axis(size), dims, (0,) * len(jaxpr.outvars))[0]
