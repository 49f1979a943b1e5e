"""``sequential_vmap``: a function whose batched form is a loop over the examples."""

from collections.abc import Callable
from typing import Any, cast

from ricci_ir import PyTree, api_boundary
from ricci_lax.custom._vmap import custom_vmap
from ricci_pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from ._loops import map as map_in_order

__all__ = [
    "sequential_vmap",
]


@api_boundary
def sequential_vmap[**P, R](f: Callable[P, R]) -> custom_vmap[P, R]:
    """A function that ``vmap`` applies to one example after another, in a loop.

    It suits functions that cannot be batched, or need too much memory when they are.

    Args:
      f: a function of pytrees of arrays.

    Example:
      >>> import numpy as np
      >>> from ricci_batching import vmap
      >>> from ricci_lax import mul
      >>> f = sequential_vmap(lambda x: mul(x, x))
      >>> vmap(f)(np.float32([1.0, 3.0])).tolist()
      [1.0, 9.0]
    """
    one_at_a_time = custom_vmap(f)
    again = cast(Callable[..., Any], one_at_a_time)

    @one_at_a_time.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: PyTree) -> tuple[PyTree, PyTree]:
        leaves, tree = tree_flatten(args)
        flags = tree_leaves(in_batched)

        def one(mapped: list[Any]) -> PyTree:
            given = iter(mapped)
            full = [next(given) if flag else x for x, flag in zip(leaves, flags, strict=True)]
            return again(*tree_unflatten(tree, full))

        batches = [x for x, flag in zip(leaves, flags, strict=True) if flag]
        out = map_in_order(one, batches)
        return out, tree_map(lambda _: True, out)

    return one_at_a_time
