"""Rounding, the test for finite numbers, and the next representable number."""

import enum

from ricci_ir import Array, ArrayLike, Primitive, unsupported
from ricci_lax.elementwise._factories import UnaryFunction
from ricci_lax.rules._checkify import makes_no_nan
from ricci_lax.rules._law_examples import ANY, samples
from ricci_lax.structure._operand_types import floating

from ._factories import nary, nary_aval, to_bool, unary_function

__all__ = [
    "ceil",
    "ceil_p",
    "is_finite",
    "is_finite_p",
    "nextafter",
    "nextafter_p",
    "round",
    "round_p",
    "RoundingMethod",
]


class RoundingMethod(enum.IntEnum):
    """The direction of rounding for numbers half-way between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


_rounding_ops = {
    RoundingMethod.AWAY_FROM_ZERO: "stablehlo.round_nearest_afz",
    RoundingMethod.TO_NEAREST_EVEN: "stablehlo.round_nearest_even",
}

round_p: Primitive = nary(
    "round",
    lambda ctx, x, *, rounding_method: ctx.emit(_rounding_ops[rounding_method], [x], ctx.out),
    floating,
    checkify=makes_no_nan,
)
ceil_p: Primitive = nary(
    "ceil", "stablehlo.ceil", floating, checkify=makes_no_nan, examples=samples(ANY)
)
is_finite_p: Primitive = nary(
    "is_finite",
    "stablehlo.is_finite",
    floating,
    abstract_eval=nary_aval("is_finite", floating, to_bool),
    examples=samples(ANY),
)
nextafter_p: Primitive = nary(
    "nextafter",
    "chlo.next_after",
    floating,
    jvp=unsupported("its derivative is of no use; compute it outside of what is differentiated"),
    checkify=makes_no_nan,
    examples=samples(ANY, ANY),
    exempt={"transpose": "it is linear but for the last bit, and has no derivative"},
)

ceil: UnaryFunction = unary_function(
    ceil_p, "Elementwise rounding up.", "lax.ceil(jnp.array([-1.5, 1.5])).tolist() -> [-1.0, 2.0]"
)
is_finite: UnaryFunction = unary_function(
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
