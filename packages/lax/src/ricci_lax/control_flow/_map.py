"""``map``: a function applied to slices one after another, or to batches of them."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_batching import Axis, batch_jaxpr
from ricci_lax.shapes import concatenate, slice
from ricci_lax.structure import reshape
from ricci_lax.structure._operand_types import shape_of

from . import _bodies as bodies
from ._loops import bind_scan, common_length, run_in_python

__all__ = ["map"]


@overload
def map[X: ir.ArrayTree, R](f: Callable[[X], R], xs: X, *, batch_size: int | None = None) -> R: ...
@overload
def map[R](f: Callable[[Any], R], xs: ir.PyTree, *, batch_size: int | None = None) -> R: ...
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
    length = common_length("map", names, leaves, None)
    if ir.disable_jit_state.value and not any(isinstance(x, ir.Tracer) for x in leaves):
        return run_in_python(lambda _, x: (None, f(x)), None, leaves, tree, length, False)[1]
    slices = [a.remove_dimension(0) for a in bodies.leaf_avals("map", names, leaves)]
    ir.check_distinct(f"map: {bodies.function_name(f)}", leaves, names)
    # Traced in each call, since variables that the function refers to may have changed.
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
    # The loop has batches of one size; the slices that are left are one smaller batch.
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
    # Variables that the body closes over are shared by the slices of a batch.
    dims = (*(None,) * count, *(0,) * (len(jaxpr.invars) - count))
    return batch_jaxpr(jaxpr, Axis(size), dims, (0,) * len(jaxpr.outvars))[0]
