"""``platform_dependent``: choose a function by the platform."""

from collections.abc import Callable

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_pytree import tree_flatten, tree_map, tree_unflatten
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
      per_platform: functions by platform: ``cpu``, ``cuda``, ``rocm``, ``tpu`` … Within a traced
        function all must return the same structure, shapes and dtypes. Outside of one only the
        function of the platform is called.

    Returns:
      The result of the function of the platform.

    Raises:
      ValueError: for ``gpu``, which is not a platform: name ``cuda`` or ``rocm``.
      NotImplementedError: if the computation is lowered for a platform that has no function.
      TypeError: if the functions return different structures or types within a traced function.

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
    index = platform_index_p.bind(platforms=platforms)
    # Committed arrays may be on another platform, which only the compiled computation knows.
    if not isinstance(index, ir.Tracer) and not any(map(_is_committed, leaves)):
        # No equation is recorded and the other functions are not called: they may use operations
        # that this platform lacks.
        chosen = branches[int(index)]
        return tree_map(ir.as_array, chosen(*tree_unflatten(tree, map(ir.as_array, leaves))))
    avals = list(map(ir.get_aval, leaves))
    bodies = [trace_body("platform_dependent", branch, tree, avals) for branch in branches]
    check_branches("platform_dependent", names, bodies)
    return bind_branches(index, bodies, leaves, branches_platforms=platforms)


def _is_committed(x: object) -> bool:
    return not isinstance(x, ir.Tracer) and getattr(x, "committed", False)
