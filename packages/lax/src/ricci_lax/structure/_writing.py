"""Emitting operations of StableHLO that several rules need."""

from collections.abc import Sequence

from ricci_ir import ArrayLike, ShapedArray
from ricci_stablehlo import Lowering, Value, int_list, signature


def lower_transpose(ctx: Lowering, x: Value, permutation: Sequence[int]) -> Value:
    """Write a transposition of a value."""
    out = x.aval.update(shape=tuple(x.shape[d] for d in permutation))
    return ctx.emit("stablehlo.transpose", [x], out, f", dims = {int_list(permutation)}", full=True)


def lower_reduce(ctx: Lowering, op: str, x: Value, init: ArrayLike, axes: Sequence[int]) -> Value:
    """Write a reduction by one operation, such as ``stablehlo.add``, from the value ``init``."""
    out = x.aval.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))
    start = ctx.constant(init, ShapedArray((), x.dtype))
    body = f"({x} init: {start}) applies {op} across dimensions = {int_list(axes)}"
    return ctx.append("stablehlo.reduce", body, [out], signature([x, start], [out]))[0]
