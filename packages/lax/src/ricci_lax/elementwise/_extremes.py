"""Elementwise maximum and minimum."""

from collections.abc import Callable

import numpy as np

from ricci_ir import Array, ArrayLike, Primitive, issubdtype
from ricci_lax.elementwise._factories import BinaryFunction
from ricci_lax.rules._checkify import makes_no_nan
from ricci_lax.rules._law_examples import ANY, no_order, samples
from ricci_lax.structure._operand_types import anything
from ricci_stablehlo import Lowering, Value

from ._arithmetic import mul
from ._comparison import compare, eq, gt, select_n, write_select
from ._factories import binary_function, filled_like, in_full_shape, nary, real_part

__all__ = ["max", "max_p", "min", "min_p"]


def _share(larger: ArrayLike, same: ArrayLike, like: ArrayLike) -> Array:
    """The factor of an operand's tangent: 1 where it is the result, 1/2 where both operands are."""
    one, none, half = (filled_like(like, value, weak=False) for value in (1, 0, 0.5))
    return select_n(larger, select_n(same, none, half), one)


def _complex_order(direction: str) -> Callable[[Lowering, Value, Value], Value]:
    """The lowering for complex numbers, ordered by real parts, then by imaginary ones."""

    def lower(ctx: Lowering, x: Value, y: Value) -> Value:
        part = x.aval.update(dtype=real_part(x.dtype))
        a, c = (ctx.emit("stablehlo.real", [z], part) for z in (x, y))
        same, further = compare(ctx, "EQ", a, c), compare(ctx, direction, a, c)
        b, d = (ctx.emit("stablehlo.imag", [z], part) for z in (x, y))
        chosen = write_select(ctx, same, compare(ctx, direction, b, d), further)
        return write_select(ctx, chosen, x, y)

    return lower


def _extreme(
    name: str, op: str, direction: str, passes: Callable[[Array, Array, Array], Array]
) -> Primitive:
    """A primitive; ``passes(result, x, y)`` is the factor of the tangent of ``x``."""

    def lower(ctx: Lowering, x: Value, y: Value) -> Value:
        full = in_full_shape(ctx, [x, y])
        if issubdtype(x.dtype, np.complexfloating):
            return _complex_order(direction)(ctx, *full)
        return ctx.emit(op, full, ctx.out)

    return nary(
        name,
        lower,
        anything,
        lambda t, result, x, y: mul(t, passes(result, x, y)),
        lambda t, result, x, y: mul(t, passes(result, y, x)),
        from_result=True,
        checkify=makes_no_nan,
        examples=samples(ANY, ANY, specials=True),
        exempt=no_order,
    )


max_p: Primitive = _extreme(
    "max", "stablehlo.maximum", "GT", lambda result, x, y: _share(gt(x, y), eq(x, y), result)
)
min_p: Primitive = _extreme(
    "min", "stablehlo.minimum", "LT", lambda result, x, y: _share(gt(y, x), eq(y, x), result)
)
max: BinaryFunction = binary_function(
    max_p,
    "Elementwise larger one of two elements; NaN if either is. Complex numbers are ordered by "
    "their real parts, then by their imaginary ones.",
    "lax.max(jnp.array([1.0, 5.0]), 3.0).tolist() -> [3.0, 5.0]",
)
min: BinaryFunction = binary_function(
    min_p,
    "Elementwise smaller one of two elements; NaN if either is. Complex numbers are ordered by "
    "their real parts, then by their imaginary ones.",
    "lax.min(jnp.array([1.0, 5.0]), 3.0).tolist() -> [1.0, 3.0]",
)
