"""Maximum, minimum, the test for finite numbers, and the next representable number."""

from collections.abc import Callable

import numpy as np

from ricci_ir import Array, ArrayLike, Primitive, issubdtype
from ricci_lax.rules._checkify import makes_no_nan
from ricci_lax.structure._operand_types import (
    anything,
    array_aval,
    broadcast_result_shape,
    floating,
)
from ricci_stablehlo import Lowering, Value

from . import _factories as factories
from ._arithmetic import mul
from ._comparison import compare, eq, gt, select_n, write_select

__all__ = ["is_finite", "is_finite_p", "max", "max_p", "min", "min_p", "nextafter", "nextafter_p"]


is_finite_p: Primitive = factories.nary(
    "is_finite",
    "stablehlo.is_finite",
    floating,
    abstract_eval=factories.nary_aval("is_finite", floating, factories.to_bool),
)


def _step_derivative(t: ArrayLike, x1: ArrayLike, x2: ArrayLike) -> ArrayLike:
    """The tangent of the start: between numbers of one exponent the step is constant."""
    return factories.repeat_to(
        t, broadcast_result_shape("nextafter", array_aval(x1), array_aval(x2))
    )


nextafter_p: Primitive = factories.nary(
    "nextafter", "chlo.next_after", floating, _step_derivative, None, checkify=makes_no_nan
)

is_finite: factories.UnaryFunction = factories.unary_function(
    is_finite_p,
    "Elementwise test for neither infinity nor NaN.",
    "lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan])).tolist() -> [True, False, False]",
)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Elementwise next number after ``x1`` towards ``x2``.

    Args:
      x1, x2: arrays of floats.

    Returns:
      An array of the operands' shape and dtype.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> float(lax.nextafter(1.0, 2.0)) - 1.0 == 2.0**-23
      True
    """
    return nextafter_p.bind(x1, x2)


def _share(larger: ArrayLike, same: ArrayLike, like: ArrayLike) -> Array:
    """The factor of an operand's tangent: 1 where it is the result, 1/2 where both operands are."""
    # At a tie both operands share the derivative, so that ``max(x, x)`` has that of ``x``.
    one, none, half = (factories.filled_like(like, value, weak=False) for value in (1, 0, 0.5))
    return select_n(larger, select_n(same, none, half), one)


def _complex_order(direction: str) -> Callable[[Lowering, Value, Value], Value]:
    """The lowering for complex numbers, ordered by real parts, then by imaginary ones."""

    def lower(ctx: Lowering, x: Value, y: Value) -> Value:
        part = x.aval.update(dtype=factories.real_part(x.dtype))
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
        full = factories.in_full_shape(ctx, [x, y])
        if issubdtype(x.dtype, np.complexfloating):
            return _complex_order(direction)(ctx, *full)
        return ctx.emit(op, full, ctx.out)

    return factories.nary(
        name,
        lower,
        anything,
        lambda t, result, x, y: mul(t, passes(result, x, y)),
        lambda t, result, x, y: mul(t, passes(result, y, x)),
        from_result=True,
        checkify=makes_no_nan,
    )


max_p: Primitive = _extreme(
    "max", "stablehlo.maximum", "GT", lambda result, x, y: _share(gt(x, y), eq(x, y), result)
)
min_p: Primitive = _extreme(
    "min", "stablehlo.minimum", "LT", lambda result, x, y: _share(gt(y, x), eq(y, x), result)
)
max: factories.BinaryFunction = factories.binary_function(
    max_p,
    "Elementwise larger one of two elements; NaN if either is. Complex numbers are ordered by "
    "their real parts, then by their imaginary ones.",
    "lax.max(jnp.array([1.0, 5.0]), 3.0).tolist() -> [3.0, 5.0]",
)
min: factories.BinaryFunction = factories.binary_function(
    min_p,
    "Elementwise smaller one of two elements; NaN if either is. Complex numbers are ordered by "
    "their real parts, then by their imaginary ones.",
    "lax.min(jnp.array([1.0, 5.0]), 3.0).tolist() -> [1.0, 3.0]",
)
