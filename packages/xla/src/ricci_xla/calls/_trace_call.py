"""Trace a call for tools that read its jaxpr and do not run it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ricci_ir import argument_aval, has_stages, preserved
from ricci_pytree import tree_flatten, tree_unflatten

from ._jit import jit
from ._stages import Traced

__all__ = ["trace_call"]


def trace_call(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Trace a call without changing the user's objects.

    Args:
      fun: a function of ``jit``'s, which is traced with its own options, or anything else that can
        be called.
      args: its arguments. Those of a function that is not jitted may have leaves that are not
        arrays, which are passed unchanged.
      kwargs: its keyword arguments, likewise.
    """
    with preserved(fun, args, kwargs):
        if has_stages(fun):
            jitted: Any = fun
            return jitted.trace(*args, **kwargs)
        leaves, tree = tree_flatten((args, kwargs))
        others = {i: leaf for i, leaf in enumerate(leaves) if not _is_typed(leaf)}
        if not others:
            return jit(fun).trace(*args, **kwargs)
        positions = [i for i in range(len(leaves)) if i not in others]

        @wraps(fun)
        def call(*arrays: object, **options: object) -> Any:
            all_leaves = [others.get(i) for i in range(len(leaves))]
            for i, x in zip(positions, tree_flatten((arrays, options))[0], strict=True):
                all_leaves[i] = x
            its_args, its_kwargs = tree_unflatten(tree, all_leaves)
            return fun(*its_args, **its_kwargs)

        arrays, options = tree_unflatten(
            tree, [None if i in others else leaf for i, leaf in enumerate(leaves)]
        )
        return jit(call).trace(*arrays, **options)


def _is_typed(leaf: object) -> bool:
    """Whether a leaf is an array, or describes one."""
    try:
        argument_aval(leaf)
    except TypeError:
        return False
    return True
