"""Counts of integers, lowered to a compiled kernel for CPUs."""

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, native_kernel

__all__: list[str] = []

# More counters miss the caches, whoever increments them.
_MOST_COUNTERS = 1 << 20


def lower_bincount(ctx: Lowering, x: Value, *weights: Value, length: int) -> list[Value] | None:
    """Lower ``jnp.bincount`` of a vector to a kernel; ``None`` where that is not faster.

    Args:
      ctx: the context of the call.
      x: the integers.
      weights: what each adds to its count, if that is not 1; no kernel then.
      length: the number of counts.
    """
    if weights or not ir.is_static_shape((length,)) or not 0 < length <= _MOST_COUNTERS:
        return None
    kernel = native_kernel(ctx, "bincount", x.aval, 0)
    # Counts are set to zero and added up once for each of several arrays.
    if kernel is None or length > x.aval.size:
        return None
    return [kernel.write_elements(ctx, [x], ctx.out)]
