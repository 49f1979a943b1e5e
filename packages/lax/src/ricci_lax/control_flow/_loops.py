"""The public loops of static length: ``scan``, ``fori_loop`` and ``map``."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_lax.shapes import concatenate, index_in_dim
from ricci_lax.structure import expand_dims
from ricci_lax.structure._operand_types import array_aval, shape_of

from . import _bodies as bodies
from ._scan import scan_p

__all__ = ["scan"]


@overload
def scan[C, X, Y](
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[C, Y]: ...
# A number as carry becomes an array.
@overload
def scan[X, Y](
    f: Callable[[ir.Array, X], tuple[ir.Array, Y]],
    init: ir.ArrayLike,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[ir.Array, Y]: ...
def scan[C, X, Y](  # pyright: ignore[reportInconsistentOverload]  # as a number is not of type C
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
    unroll = checked_unroll("scan", unroll)
    init, xs = ir.parted(init), ir.parted(xs)
    carry, carry_tree = pytree.tree_flatten(init)
    leaves, xs_tree = pytree.tree_flatten(xs)
    names = lambda: pytree.argument_paths((init, xs), {}, f)
    xs_names = lambda: names()[len(carry) :]
    length = common_length("scan", xs_names, leaves, length)
    if ir.disable_jit_state.value and not any(isinstance(x, ir.Tracer) for x in (*carry, *leaves)):
        return run_in_python(f, init, leaves, xs_tree, length, reverse)
    avals = bodies.leaf_avals("scan", names, carry)
    slices = [a.remove_dimension(0) for a in bodies.leaf_avals("scan", xs_names, leaves)]
    ir.check_distinct(f"scan: {bodies.function_name(f)}", [*carry, *leaves], names)
    slice_tree = ir.stacked_parts(xs_tree, length, _example_type)
    tree = pytree.treedef_tuple((carry_tree, slice_tree))
    body, avals = bodies.trace_carry("scan", f, tree, avals, slices, len(carry))
    ys_tree = _check_pair(f, body, carry_tree, names, avals)
    params = {
        "length": length,
        "reverse": bool(reverse),
        "unroll": length if unroll is True else unroll,
        "_split_transpose": bool(_split_transpose),
    }
    last, ys = bind_scan(body, bodies.initial_carry(carry, avals), leaves, params)
    ys_tree = ir.stacked_parts(ys_tree, length, _batch_type)
    return pytree.tree_unflatten(carry_tree, last), pytree.tree_unflatten(ys_tree, ys)


def _example_type(aval: ir.HiType, length: int) -> ir.AbstractValue:
    return aval.dec_rank(length, aval.leading_axis_spec())


def _batch_type(aval: ir.HiType, length: int) -> ir.AbstractValue:
    return aval.inc_rank(length, aval.leading_axis_spec())


def checked_unroll(what: str, unroll: object) -> int | bool:
    if unroll is True:
        return True
    if isinstance(unroll, ir.Tracer):
        raise ir.ConcretizationTypeError(unroll, f"It is unroll of {what}, which must be static.")
    if not isinstance(unroll, int) or unroll < 0:
        raise ValueError(f"{what}: unroll must be a bool or a non-negative int, got {unroll!r}.")
    return 1 if unroll is False else unroll


def common_length(what: str, names: bodies.Names, leaves: Sequence[Any], length: int | None) -> int:
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


def run_in_python(
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
    # A part of the carry that the body returns unchanged is a constant of the loop, and a slice
    # that it collects unchanged is the scanned array itself: neither is copied in each iteration.
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


# map
