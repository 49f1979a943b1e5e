"""Emitting operations of StableHLO that several rules need."""

from collections.abc import Sequence

from ricci_ir import ArrayLike, ShapedArray
from ricci_stablehlo import Lowering, Value, int_list, tensor_type


def write(ctx: Lowering, text: str, operands: Sequence[Value], out: ShapedArray) -> Value:
    """Write an operation whose text ends in its full signature, ``(types) -> type``."""
    name = ctx.new_name()
    types = ", ".join(tensor_type(x.aval) for x in operands)
    ctx.write(f"{name} = {text} : ({types}) -> {tensor_type(out)}")
    return Value(name, out)


def lower_transpose(ctx: Lowering, x: Value, permutation: Sequence[int]) -> Value:
    """Write a transposition of a value."""
    out = x.aval.update(shape=tuple(x.shape[d] for d in permutation))
    return write(ctx, f"stablehlo.transpose {x}, dims = {int_list(permutation)}", [x], out)


def lower_reduce(ctx: Lowering, op: str, x: Value, init: ArrayLike, axes: Sequence[int]) -> Value:
    """Write a reduction by one operation, such as ``stablehlo.add``, from the value ``init``."""
    out = x.aval.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))
    start = ctx.constant(init, ShapedArray((), x.dtype))
    text = f"stablehlo.reduce({x} init: {start}) applies {op} across dimensions = {int_list(axes)}"
    return write(ctx, text, [x, start], out)
