"""Rounding to integers: down, up, and to the nearest."""

import enum

from ricci_ir import Array, ArrayLike, Primitive, exported
from ricci_lax.rules._checkify import makes_no_nan
from ricci_lax.structure._operand_types import floating

from . import _factories as factories
from ._cpu_formulas import vectorised_on_cpus

__all__ = ["RoundingMethod", "ceil", "ceil_p", "floor", "floor_p", "round", "round_p"]


@exported
class RoundingMethod(enum.IntEnum):
    """The direction of rounding for numbers half-way between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


_rounding_ops = {
    RoundingMethod.AWAY_FROM_ZERO: "stablehlo.round_nearest_afz",
    RoundingMethod.TO_NEAREST_EVEN: "stablehlo.round_nearest_even",
}

round_p: Primitive = factories.nary(
    "round",
    lambda ctx, x, *, rounding_method: ctx.emit(_rounding_ops[rounding_method], [x], ctx.out),
    floating,
    checkify=makes_no_nan,
)
floor_p: Primitive = factories.nary(
    "floor",
    vectorised_on_cpus("floor", factories.lower_to("stablehlo.floor"), ()),
    floating,
    checkify=makes_no_nan,
)
ceil_p: Primitive = factories.nary(
    "ceil",
    vectorised_on_cpus("ceil", factories.lower_to("stablehlo.ceil"), ()),
    floating,
    checkify=makes_no_nan,
)
floor: factories.UnaryFunction = factories.unary_function(
    floor_p,
    "Elementwise rounding down.",
    "lax.floor(jnp.array([-1.5, 1.5])).tolist() -> [-2.0, 1.0]",
)
ceil: factories.UnaryFunction = factories.unary_function(
    ceil_p, "Elementwise rounding up.", "lax.ceil(jnp.array([-1.5, 1.5])).tolist() -> [-1.0, 2.0]"
)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Elementwise rounding to the nearest integer.

    Args:
      x: an array of floats.
      rounding_method: the direction for numbers half-way between two integers.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      ValueError: if ``rounding_method`` is not a ``RoundingMethod``.

    Example:
      >>> from ricci import lax
      >>> float(lax.round(2.5)), float(lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN))
      (3.0, 2.0)
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))
