"""``platform_dependent``: choose a function by the platform."""

import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_lax.staged_calls._by_operation import evaluated_by_operation
from ricci_pytree import PyTreeDef, tree_flatten, tree_map, tree_unflatten
from ricci_stablehlo import Lowering, Value

from ._bodies import check_branches, trace_body
from ._cond import bind_branches, index_of_platform

__all__ = ["platform_dependent", "platform_index_p"]

_index = ir.ShapedArray((), np.dtype(np.int32))


def _lower(ctx: Lowering, *, platforms) -> Value:
    return ctx.constant(index_of_platform(ctx.platform, platforms), _index)


platform_index_p: ir.Primitive = ir.define(
    "platform_index",
    sharding=ir.without_sharding,
    abstract_eval=lambda *, platforms: _index,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=ir.unsupported("it has no operands, so that none is ever batched"),
    lower=_lower,
)


def platform_dependent(
    *args: ir.PyTree, default: Callable | None = None, **per_platform: Callable
) -> ir.PyTree:
    """Apply the function for the platform that the computation is lowered for.

    Args:
      args: the functions' arguments, pytrees of arrays.
      default: the function for platforms that are not named.
      per_platform: functions by platform: ``cpu``, ``cuda``, ``rocm``, ``tpu`` … All must return
        the same structure, shapes and dtypes.

    Returns:
      The result of the function of the platform.

    Raises:
      ValueError: for ``gpu``, which is not a platform: name ``cuda`` or ``rocm``.
      NotImplementedError: if the computation is lowered for a platform that has no function.
      TypeError: if the functions return different structures or types.

    Example:
      A product in a precision that suits the device:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def product(a, b):
      ...     exact = lambda a, b: a @ b
      ...     quick = lambda a, b: jnp.matmul(a, b, precision="default")
      ...     return lax.platform_dependent(a, b, tpu=quick, default=exact)
      >>> float(product(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
      11.0
    """
    if "gpu" in per_platform:
        raise ValueError(
            "platform_dependent: 'gpu' is not a platform; give functions for 'cuda' and 'rocm'."
        )
    names, branches = list(per_platform), list(per_platform.values())
    platforms: tuple[tuple[str, ...] | None, ...] = tuple((name,) for name in names)
    if default is not None:
        names, branches, platforms = [*names, "default"], [*branches, default], (*platforms, None)
    for name, branch in zip(names, branches, strict=True):
        if not callable(branch):
            raise TypeError(
                f"platform_dependent: the value for {name} must be a function, got {branch!r}."
            )
    if not branches:
        raise NotImplementedError("platform_dependent: no function is given for any platform.")
    leaves, tree = tree_flatten(args)
    avals = list(map(ir.get_aval, leaves))
    key = _key(branches, platforms, tree, leaves)
    index = None if key is None else _index_of_copy(key, branches)
    if index is not None:
        result = branches[index](*tree_unflatten(tree, map(ir.as_array, leaves)))
        return tree_map(ir.as_array, result)
    bodies = [trace_body("platform_dependent", branch, tree, avals) for branch in branches]
    check_branches("platform_dependent", names, bodies)
    index = platform_index_p.bind(platforms=platforms)
    if not isinstance(index, ir.Tracer):
        # No program is recorded, so the platform is known: the other functions need no rules.
        number = int(index)
        if key is not None:
            _traced.put(key, _Traced(tuple(map(weakref.ref, branches)), number))
        body = bodies[number]
        operands = [*body.consts, *leaves]
        if any(isinstance(x, ir.Tracer) for x in leaves):
            return bind_branches(np.int32(0), [body], leaves)
        # Committed arrays may be on another platform.
        if not any(getattr(x, "committed", False) for x in operands):
            outs = evaluated_by_operation(body.jaxpr, operands)
            if outs is not None:
                return tree_unflatten(body.out_tree, outs)
    return bind_branches(index, bodies, leaves, branches_platforms=platforms)


class _Traced(ir.TupleRecord):
    """Functions that were traced, and the position of the one for the default device."""

    functions: tuple[weakref.ref[Any], ...]
    position: int


# By the code of functions, their platforms, the types of the arguments, and the settings.
_traced: ir.Cache[Any, _Traced] = ir.Cache("functions by platform", 256)


def _key(
    branches: Sequence[Any], platforms: object, tree: PyTreeDef, leaves: Sequence[Any]
) -> tuple[object, ...] | None:
    """Return the key of a call in ``_traced``; ``None`` of one that is part of another function.

    Committed arrays may be on another platform.
    """
    if ir.context.trace is not ir.eval_trace or ir.disable_jit_state.value:
        return None
    if any(isinstance(x, ir.Tracer) or getattr(x, "committed", False) for x in leaves):
        return None
    if any(type(branch) is not FunctionType for branch in branches):
        return None
    codes = tuple([branch.__code__ for branch in branches])
    types = tuple(map(ir.get_aval, leaves))
    return codes, platforms, tree, types, ir.trace_key(), ir.backend()


def _index_of_copy(key: tuple[object, ...], branches: Sequence[Any]) -> int | None:
    """Return the index of the function to call, if others of the same code were traced.

    Functions that are made for each call would else be traced in each, to compare their results.
    """
    traced = _traced.recall(key)
    if traced is None:
        return None
    pairs = zip(traced.functions, branches, strict=True)
    return traced.position if any(ref() is not branch for ref, branch in pairs) else None
