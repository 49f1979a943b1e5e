"""Eager calls of users' functions as one call of a jaxpr.

The constants of such a function are part of the executable, so that a call copies nothing from the
host, which a transfer guard would refuse.
"""

from collections.abc import Callable, Hashable
from typing import Any

import ricci_ir as ir
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

# The jaxpr of a call, with the function's constants as leading arguments; these; the results' tree.
_calls: ir.TracedFunctions[Any, tuple[ir.Jaxpr, list[ir.Array], PyTreeDef]] = ir.TracedFunctions(
    "applied functions", 64
)


def call_traced[R](
    name: str,
    function: Callable[..., object],
    body: Callable[..., R],
    settings: Hashable,
    *arrays: ir.ArrayLike,
) -> R:
    """Apply a user's function to arrays outside of any jaxpr, tracing it once for their types.

    Args:
      name: the name of the call.
      function: the user's function, with which its jaxprs are dropped.
      body: the function of ``arrays`` that is traced. It is determined by ``function``, ``name``
        and ``settings``.
      settings: the other values that ``body`` depends on.
      arrays: the operands.

    Returns:
      The results of ``body``.
    """
    avals = tuple(map(ir.get_aval, arrays))
    key = name, settings, avals
    call = _calls.recall(function, key)
    if call is None:
        tree = None

        def flat(*xs: ir.Array) -> list[Any]:
            nonlocal tree
            leaves, tree = tree_flatten(body(*xs))
            return leaves

        jaxpr = ir.trace_to_jaxpr(flat, avals)
        assert tree is not None, "the function was traced"
        call = ir.convert_constvars(jaxpr), list(map(ir.as_array, jaxpr.consts)), tree
        _calls.put(function, key, call)
    jaxpr, consts, tree = call
    return tree_unflatten(tree, ir.staged_call.bind(jaxpr, name, (*consts, *arrays)))
