"""Python callbacks in lowering rules that build MLIR, as libraries written for JAX have."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import ShapedArray
from ricci_stablehlo import lower_fun

from ._callback import pure_callback

__all__ = [
    "emit_python_callback",
]


def emit_python_callback(
    ctx: object,
    callback: Callable[..., Sequence[Any]],
    token: object,
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: object = None,
) -> tuple[list[Any], None, None]:
    """Emit a call of a Python function in a lowering rule.

    Args:
      ctx: the rule's lowering context.
      callback: called with NumPy arrays; returns a sequence of arrays.
      token, has_side_effect: must be ``None`` and false.
      operands: MLIR values.
      operand_avals, result_avals: the types of operands and results.
      returns_token, partitioned, sharding: not needed.

    Returns:
      The results, ``None`` for the token, and ``None`` for objects to keep alive: the executable
      references the function.

    Raises:
      NotImplementedError: for a function with side effects.

    Example:
      >>> from ricci_lax import emit_python_callback
      >>> def rule(ctx, x):
      ...     call = lambda x: (x + 1,)
      ...     options = {"has_side_effect": False}
      ...     return emit_python_callback(
      ...         ctx, call, None, [x], ctx.avals_in, ctx.avals_out, **options
      ...     )[0]
    """
    if token is not None or has_side_effect:
        raise NotImplementedError(
            "emit_python_callback calls functions without side effects only. Define the primitive "
            "by io_callback in mlir.lower_fun: that orders its effects, too."
        )
    tupled = lambda *xs: tuple(callback(*xs))
    call = lambda *xs: list(pure_callback(tupled, tuple(result_avals), *xs))
    return lower_fun(call)(ctx, *operands), None, None
