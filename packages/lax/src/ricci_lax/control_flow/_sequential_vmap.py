"""``sequential_vmap``: batch a function by a loop over the examples."""

from collections.abc import Callable
from typing import Any, cast

from ricci_ir import PyTree, api_boundary
from ricci_lax.custom._vmap import custom_vmap
from ricci_pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from ._map import map as map_in_order

__all__ = ["sequential_vmap"]


@api_boundary
def sequential_vmap[**P, R](f: Callable[P, R]) -> custom_vmap[P, R]:
    """A function that ``vmap`` applies to one example after another, in a loop.

    It suits functions that cannot be batched, or need too much memory when they are.

    Args:
      f: a function of pytrees of arrays.

    Returns:
      A function with the same arguments and results.

    Example:
      A callback that takes one example at a time:

      >>> import numpy as np
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.custom_batching import sequential_vmap
      >>> @sequential_vmap
      ... def rank(matrix):
      ...     struct = ricci.ShapeDtypeStruct((), jnp.int32)
      ...     count = lambda m: np.int32(np.linalg.matrix_rank(m))
      ...     return ricci.pure_callback(count, struct, matrix)
      >>> ricci.vmap(rank)(jnp.stack([jnp.eye(2), jnp.ones((2, 2))])).tolist()
      [2, 1]

    See also:
      ``custom_vmap``, ``lax.map``.
    """
    one_at_a_time = custom_vmap(f)
    again = cast(Callable[..., Any], one_at_a_time)

    @one_at_a_time.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: PyTree) -> tuple[PyTree, PyTree]:
        leaves, tree = tree_flatten(args)
        flags = tree_leaves(in_batched)

        def one(mapped: list[Any]) -> PyTree:
            slices = iter(mapped)
            full = [next(slices) if flag else x for x, flag in zip(leaves, flags, strict=True)]
            # The function with its rule, so that a ``vmap`` around this one becomes a loop, too.
            return again(*tree_unflatten(tree, full))

        batches = [x for x, flag in zip(leaves, flags, strict=True) if flag]
        out = map_in_order(one, batches)
        return out, tree_map(lambda _: True, out)

    return one_at_a_time
