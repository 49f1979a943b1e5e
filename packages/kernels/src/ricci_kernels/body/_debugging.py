"""Printing and checking in kernels, uninitialized arrays, and the cost of a function."""

import string
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._specs import CostEstimate
from ricci_kernels.primitives._debug_checks import debug_check_p
from ricci_kernels.primitives._debug_checks import enable_debug_checks as enable_debug_checks
from ricci_lax import debug_print as _print
from ricci_numpy import broadcast_to as broadcast_to
from ricci_pytree import tree_flatten, tree_unflatten

__all__ = [
    "broadcast_to",
    "debug_check",
    "debug_print",
    "delay",
    "empty",
    "empty_like",
    "enable_debug_checks",
    "estimate_cost",
    "reciprocal",
]


def debug_print(fmt: str, *args: ir.ArrayLike) -> None:
    """Print values from within a kernel, in each step that reaches this call.

    Args:
      fmt: a format string with a placeholder ``{}`` for each value, or none, and then the values
        are printed after it.
      args: the values.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def kernel(out):
      ...     pl.debug_print("step {}", pl.program_id(0))
      ...     out[...] = np.int32(0)
      >>> run = pl.pallas_call(
      ...     kernel, ricci.ShapeDtypeStruct((), np.int32), grid=2, interpret=True
      ... )
      >>> ricci.block_until_ready(run()); ricci.effects_barrier()
      step 0
      step 1
      Array(0, dtype=int32)
    """
    has_fields = any(field is not None for _, field, _, _ in string.Formatter().parse(fmt))
    if args and not has_fields:
        fmt = " ".join([fmt, *["{}"] * len(args)])
    _print(fmt, *args)


def debug_check(condition: ir.ArrayLike, message: str) -> None:
    """Check in a kernel that a condition holds, where such checks are enabled.

    They are under ``pl.enable_debug_checks(True)``, for interpreted kernels and for those compiled
    for TPUs, and under ``checkify``.

    Args:
      condition: the condition, a boolean scalar.
      message: the message if it does not hold.

    Raises:
      TypeError: if the condition is not a boolean scalar.
      ValueError: when an interpreted kernel has run, if the condition did not hold in a step.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def kernel(x, out):
      ...     pl.debug_check(x[0] > 0, "the first element is positive")
      ...     out[...] = x[...]
      >>> copy = pl.pallas_call(kernel, ricci.ShapeDtypeStruct((2,), np.int32), interpret=True)
      >>> x = np.int32([-1, 2])
      >>> copy(x)
      Array([-1,  2], dtype=int32)
      >>> with pl.enable_debug_checks(True):
      ...     ricci.block_until_ready(copy(x))
      Traceback (most recent call last):
          ...
      ValueError: debug_check of the kernel kernel...
    """
    aval: Any = ir.get_aval(condition)
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError(
            f"debug_check: the condition must be a boolean scalar, got {aval.str_short()}. "
            "Compare, and reduce with .all() or .any()."
        )
    if ir.context.trace.records_references:
        debug_check_p.bind(condition, message=message, enabled=enable_debug_checks.value)


def delay(nanos: ir.ArrayLike) -> None:
    """Wait in a kernel; of no effect when interpreted.

    Args:
      nanos: the time in nanoseconds.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.delay(100)
    """
    del nanos


def reciprocal(x: ir.ArrayLike, *, approx: bool = False) -> ir.Array:
    """The reciprocal of floats.

    Args:
      x: an array of floats.
      approx: whether a device may compute it with less precision; of no effect when interpreted.

    Returns:
      An array of the same shape and dtype.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import reciprocal
      >>> reciprocal(np.float32([2, 4]))
      Array([0.5 , 0.25], dtype=float32)
    """
    del approx
    return lax.div(lax.full_like(x, 1), x)


def empty(shape: Sequence[int], dtype: ir.DTypeLike, *, out_sharding: Any = None) -> ir.Array:
    """Make an array of unspecified elements, which are 0.

    Args:
      shape: its shape.
      dtype: its dtype.
      out_sharding: its sharding.

    Returns:
      The array.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import empty
      >>> empty((2,), np.float32).shape
      (2,)
    """
    return lax.full(tuple(shape), 0, dtype, sharding=out_sharding)


def empty_like(x: Any) -> Any:
    """Make arrays of unspecified elements, with the types of others.

    Args:
      x: an array, a ``ShapeDtypeStruct``, or a pytree of them.

    Returns:
      An array, or a pytree of them.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import empty_like
      >>> empty_like(np.ones(2, np.float32)).shape
      (2,)
    """
    leaves, tree = tree_flatten(x)
    return tree_unflatten(tree, [empty(leaf.shape, leaf.dtype) for leaf in leaves])


# The operations that JAX counts.
_ARITHMETIC = frozenset("add and ceil div floor max min mul neg not or round sub xor".split())
_TRANSCENDENTAL = frozenset(
    "acos asin atan cos cosh exp log logistic sin sinh sqrt tan tanh".split()
)


def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CostEstimate:
    """Estimate the cost of a function from its jaxpr.

    Args:
      fun: the function.
      args: its arguments: arrays, or ``ShapeDtypeStruct``.
      kwargs: its keyword arguments, which are not traced.

    Returns:
      A ``CostEstimate``, whose bytes are those of arguments and results.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import estimate_cost
      >>> estimate_cost(lambda x: x * jnp.sin(x), np.ones(8, np.float32))
      CostEstimate(flops=8, transcendentals=8, bytes_accessed=64, remote_bytes_transferred=0)
    """
    leaves, tree = tree_flatten(args)

    def flat(*xs: Any) -> list[Any]:
        return tree_flatten(fun(*tree_unflatten(tree, xs), **kwargs))[0]

    avals = [x.aval if hasattr(x, "aval") else _type_of(x) for x in leaves]
    jaxpr = ir.trace_to_jaxpr(flat, avals)
    flops, transcendentals = _count(jaxpr)
    moved = [*jaxpr.in_avals, *jaxpr.out_avals]
    size = sum(prod(a.shape) * np.dtype(a.dtype).itemsize for a in moved)  # pyright: ignore
    return CostEstimate(flops, transcendentals, size)


def _type_of(x: Any) -> Any:
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return ir.ShapedArray(tuple(x.shape), ir.canonicalize_dtype(x.dtype))
    return ir.get_aval(x)


def _count(jaxpr: ir.Jaxpr) -> tuple[int, int]:
    flops = transcendentals = 0
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        size = prod(eqn.outvars[0].aval.shape) if eqn.outvars else 0  # pyright: ignore
        if name in _ARITHMETIC:
            flops += size
        elif name in _TRANSCENDENTAL:
            transcendentals += size
        elif name == "integer_pow":
            # By repeated squaring: a product for each bit, and one more for each that is set.
            y = eqn.params["y"]
            flops += size * (max(abs(y).bit_length() - 1, 0) + abs(y).bit_count() + (y < 0))
        elif name == "dot_general":
            (contracted, _), _ = eqn.params["dimension_numbers"]
            shape = eqn.invars[0].aval.shape  # pyright: ignore
            flops += 2 * size * prod(shape[d] for d in contracted)
        elif name in ("jit", "custom_jvp_call", "custom_vjp_call", "checkpoint"):
            for inner in ir.jaxprs_in_params(eqn.params):
                more = _count(inner)
                flops, transcendentals = flops + more[0], transcendentals + more[1]
    return flops, transcendentals
