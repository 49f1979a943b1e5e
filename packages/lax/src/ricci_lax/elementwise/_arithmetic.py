"""Arithmetic: products, powers, sign and size."""

from operator import index
from typing import Any

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.elementwise._factories import BinaryFunction, UnaryFunction
from ricci_lax.rules._checkify import checks_division, makes_no_nan
from ricci_lax.structure import _exact_rules as exact
from ricci_lax.structure import _operand_types as operands
from ricci_lax.structure import as_typed
from ricci_lax.structure._broadcasting import zeros_of
from ricci_stablehlo import Lowering, Value, traced

from . import _factories as factories
from ._comparison import bitwise_or, compare, eq, ge, select_n, write_select
from ._conversion import converted
from ._linear import add, add_any, complex, conj, imag, neg, real, sub

__all__ = ["abs", "abs_p", "div", "div_p", "integer_pow", "integer_pow_p"]
__all__ += ["mul", "mul_p", "mulhi", "mulhi_p", "one_minus_square", "one_minus_square_p"]
__all__ += ["reciprocal", "sign", "sign_p", "square", "square_p"]

# Products


_product_aval = factories.nary_aval("mul", operands.numeric)


def _mul_aval(
    x: ir.ShapedArray, y: ir.ShapedArray, *, out_dtype: np.dtype | None = None
) -> ir.ShapedArray:
    if out_dtype is None:
        return _product_aval(x, y)
    operands.check_dtype("mul", x, operands.numeric)
    operands.check_dtype("mul", y, operands.numeric)
    return ir.ShapedArray(operands.broadcast_result_shape("mul", x, y), out_dtype)


def _mul_lower(ctx: Lowering, x: Value, y: Value, *, out_dtype: np.dtype | None = None) -> Value:
    out = ctx.outs[0]
    full = [
        z if z.aval.dtype == out.dtype else ctx.emit("stablehlo.convert", [z], out)
        for z in factories.in_full_shape(ctx, [x, y])
    ]
    return ctx.emit("stablehlo.multiply", full, out)


def _factor_dtype(out_dtype: np.dtype | None, aval: ir.ShapedArray) -> dict[str, Any]:
    return {} if out_dtype is None else {"out_dtype": aval.dtype}


def _mul_lhs(ct, x, y, *, out_dtype=None):
    return factories.sum_to(mul_p.bind(ct, y, **_factor_dtype(out_dtype, x)), x.shape)


def _mul_rhs(ct, x, y, *, out_dtype=None):
    return factories.sum_to(mul_p.bind(x, ct, **_factor_dtype(out_dtype, y)), y.shape)


def _mul_sums(*avals: ir.ShapedArray, out_dtype: np.dtype | None = None) -> ir.SumsRule:
    """Unreduced terms may be multiplied, but not converted before: see ``SumsRule``."""
    return ir.linear_in_each if out_dtype is None else ir.SumsRule("none")


# The parameter out_dtype is present only if the user sets it; operands may then differ in dtype.
mul_p: ir.Primitive = factories.nary(
    "mul",
    _mul_lower,
    operands.numeric,
    abstract_eval=_mul_aval,
    exact=exact.elementwise(np.multiply),
    **ad.bilinear(_mul_lhs, _mul_rhs),
    sums=_mul_sums,
)


def mul(x: ir.ArrayLike, y: ir.ArrayLike, *, out_dtype: ir.DTypeLike | None = None) -> ir.Array:
    """Elementwise ``x * y``.

    Args:
      x, y: arrays of one dtype. They have one rank, with sizes of 1 repeated, or are scalars.
      out_dtype: the dtype to multiply in, if that is not the operands'.

    Returns:
      An array of the operands' shape, of dtype ``out_dtype`` or theirs.

    Raises:
      TypeError: if the operands' dtypes differ or are not accepted, or their shapes do not fit.

    Example:
      Products of bytes that do not overflow:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.array([100, 50], jnp.int8)
      >>> lax.mul(x, x, out_dtype=jnp.int32).tolist()
      [10000, 2500]
    """
    if out_dtype is None:
        return mul_p.bind(x, y)
    return mul_p.bind(x, y, out_dtype=ir.explicit_dtype(out_dtype, "mul"))


# The differentiator is a lower layer, which sums, scales and fills tangents by these operations.
ad.tangent_sum.provide(add_any)
ad.zeros_of_type.provide(zeros_of)
ad.with_type.provide(as_typed)
ad.scaled_tangent.provide(lambda x, factor: mul(x, factories.scalar_like(x, factor)))


def _div_by_divisor(t, x, y):
    # In -x / y² the square may leave the dtype; XLA merges (x / y) / y to that, too. The order is
    # the same when it is transposed.
    inverse = reciprocal(y)
    return mul(mul(mul(neg(t), inverse), x), inverse)


div_p: ir.Primitive = factories.nary(
    "div",
    "stablehlo.divide",
    operands.numeric,
    lambda t, x, y: div(t, y),
    _div_by_divisor,
    jet=ad.quotient(mul),
    transpose=lambda ct, x, y: (factories.sum_to(div(ct, y), x.aval.shape), None),
    sums=lambda x, y: ir.SumsRule("first" if ir.issubdtype(x.dtype, np.inexact) else "none"),
    exact=exact.divide,
    checkify=checks_division,
)
div: BinaryFunction = factories.binary_function(
    div_p,
    "Elementwise ``x / y``; of integers, the quotient rounded towards zero.",
    "int(lax.div(7, -2)), float(lax.div(7.0, -2.0)) -> (-3, -3.5)",
)
mulhi_p: ir.Primitive = factories.nary("mulhi", "chlo.mulhi", operands.integral)


def mulhi(x: ir.ArrayLike, y: ir.ArrayLike, /) -> ir.Array:
    """Elementwise upper half of the bits of a product.

    Args:
      x, y: arrays of integers.

    Returns:
      An array of the operands' shape and dtype.

    Raises:
      TypeError: if the dtypes differ or are not accepted, or the shapes do not fit.

    Example:
      >>> from ricci import lax
      >>> int(lax.mulhi(1 << 30, 8))
      2
    """
    return mulhi_p.bind(x, y)


square_p: ir.Primitive = factories.nary(
    "square",
    lambda ctx, x: (
        factories.lower_to("chlo.square")(ctx, x)
        if ir.issubdtype(x.dtype, np.inexact)
        else ctx.emit("stablehlo.multiply", [x, x], ctx.out)
    ),
    operands.numeric,
    lambda t, x: mul(t, mul(factories.strong_like(x, 2), x)),
    jet=ad.square_rule(mul),
    exact=exact.elementwise(np.square),
    checkify=makes_no_nan,
)
square: UnaryFunction = factories.unary_function(
    square_p, "Elementwise ``x * x``.", "float(lax.square(3.0)) -> 9.0"
)


def _one_minus_square(x: ir.Array) -> ir.Array:
    one = factories.scalar_like(x, 1)
    return mul(add(one, x), sub(one, x))


one_minus_square_p: ir.Primitive = factories.nary(
    "one_minus_square",
    traced(_one_minus_square),
    operands.numeric,
    lambda t, x: mul(t, mul(factories.scalar_like(x, -2), x)),
    jet=ad.square_rule(lambda x, y: neg(mul(x, y))),
)
one_minus_square: UnaryFunction = factories.unary_function(
    one_minus_square_p,
    "Elementwise ``1 - x * x``, accurate where that is small.",
    "float(lax.one_minus_square(0.5)) -> 0.75",
)

# Powers


def _integer_pow_aval(x: ir.ShapedArray, *, y: int) -> ir.ShapedArray:
    operands.check_dtype("integer_pow", x, operands.numeric)
    if y < 0 and ir.issubdtype(x.dtype, np.integer):
        raise TypeError(
            f"integer_pow: {x} is an array of integers and the exponent {y} is negative, "
            "which would leave the integers. Make the base a float first."
        )
    return x


def _integer_pow_jvp(primals, tangents, *, y):
    (x,), (t,) = primals, tangents
    result = integer_pow_p.bind(x, y=y)
    if y == 0:
        return result, ad.Zero.from_primal(result)
    if y == 1:
        return result, t
    lower = x if y == 2 else integer_pow_p.bind(x, y=y - 1)
    return result, mul(t, mul(factories.strong_like(x, y), lower))


def _product_power(x: ir.Array, *, y: int) -> ir.Array:
    """The power by multiplication, whose series are exact at zero, too."""
    result = None
    n = -y if y < 0 else y
    while n:
        if n & 1:
            result = x if result is None else mul(result, x)
        n >>= 1
        if n:
            x = mul(x, x)
    if result is None:
        return factories.filled_like(x, 1)
    return div(factories.scalar_like(x, 1), result) if y < 0 else result


def _integer_pow_lower(ctx: Lowering, x: Value, *, y: int) -> Value:
    out = ctx.out

    def times(a: Value, b: Value) -> Value:
        return ctx.emit("stablehlo.multiply", [a, b], out)

    def one() -> Value:
        return ctx.broadcast_to(ctx.constant(1, out.resized(())), out.shape)

    if y == 0:
        return one()
    if y == 3:
        return times(times(x, x), x)
    # Binary exponentiation: x runs through the squares of squares, and the set bits of the exponent
    # select the factors.
    result = None
    n = -y if y < 0 else y
    while n:
        if n & 1:
            result = x if result is None else times(result, x)
        n >>= 1
        if n:
            x = times(x, x)
    return ctx.emit("stablehlo.divide", [one(), result], out) if y < 0 else result  # pyright: ignore


integer_pow_p: ir.Primitive = factories.nary(
    "integer_pow",
    _integer_pow_lower,
    operands.numeric,
    abstract_eval=_integer_pow_aval,
    jvp=_integer_pow_jvp,
    jet=ad.composed(_product_power),
)


def integer_pow(x: ir.ArrayLike, y: int) -> ir.Array:
    """Elementwise power with a fixed integer exponent, by multiplication.

    Args:
      x: an array of numbers.
      y: the exponent, a Python int.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if integers are raised to a negative power, or ``y`` is not an integer.

    Example:
      >>> from ricci import lax
      >>> float(lax.integer_pow(2.0, -2))
      0.25
    """
    return integer_pow_p.bind(x, y=index(y))


def reciprocal(x: ir.ArrayLike) -> ir.Array:
    """Elementwise ``1 / x``.

    Args:
      x: an array of floats or complex numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> from ricci import lax
      >>> float(lax.reciprocal(4.0))
      0.25
    """
    return integer_pow_p.bind(x, y=-1)


def replace_zero(x: ir.ArrayLike) -> ir.Array:
    """``x`` with ones in place of zeros."""
    return select_n(eq(x, factories.scalar_like(x, 0)), x, factories.filled_like(x, 1))


# Sign and size


def _sign_lower(ctx: Lowering, x: Value) -> Value:
    out, scalar = ctx.out, x.aval.resized(())
    zero = ctx.broadcast_to(ctx.constant(0, scalar), x.shape)
    if not ir.issubdtype(x.dtype, np.unsignedinteger):
        sign = ctx.emit("stablehlo.sign", [x], out)
        if ir.issubdtype(x.dtype, np.signedinteger):
            return sign
        # StableHLO preserves the sign of zeros; the array API standard has 0 for both.
        return write_select(ctx, compare(ctx, "EQ", x, zero), zero, sign)
    one = ctx.broadcast_to(ctx.constant(1, scalar), out.shape)
    return write_select(ctx, compare(ctx, "EQ", x, zero), zero, one)


def _direction_of(t, result, x):
    # The direction of a complex number turns by the part of the tangent that is across it:
    # d(x/|x|) = i x/|x| Im(conj(x/|x|) t) / |x|.
    turn = div(imag(mul(conj(result), t)), replace_zero(abs(x)))
    return mul(result, complex(factories.filled_like(turn, 0), turn))


def _sign_jvp(primals, tangents):
    ((x,), (t,)) = primals, tangents
    result = sign_p.bind(x)
    if ir.issubdtype(operands.array_aval(x).dtype, np.complexfloating):
        return result, _direction_of(t, result, x)
    return result, ad.Zero.from_primal(result)


sign_p: ir.Primitive = factories.nary(
    "sign", _sign_lower, operands.numeric, jvp=_sign_jvp, checkify=makes_no_nan
)
sign: UnaryFunction = factories.unary_function(
    sign_p,
    "Elementwise sign: -1, 0 or 1; of complex numbers, the direction.",
    "lax.sign(jnp.array([-2.0, 0.0, 3.0])).tolist() -> [-1.0, 0.0, 1.0]",
)


def _abs_of(t, result, x):
    dtype = operands.array_aval(x).dtype
    if ir.issubdtype(dtype, np.complexfloating):
        # d|x| = Re(t conj(x)) / |x|; the derivative at 0 is defined as 0.
        return real(mul(t, div(conj(x), replace_zero(converted(result, dtype)))))
    return select_n(ge(x, factories.scalar_like(x, 0)), neg(t), t)


def _abs_lower(ctx: Lowering, x: Value) -> Value:
    size = ctx.emit("stablehlo.abs", [x], ctx.out)
    is_complex = ir.issubdtype(x.dtype, np.complexfloating)
    return traced(_size_or_infinity)(ctx, x, size) if is_complex else size


def _size_or_infinity(x: ir.Array, size: ir.Array) -> ir.Array:
    """The absolute value of complex numbers: infinite if a part is, even if the other is NaN."""
    infinity = factories.scalar_like(size, float("inf"))
    infinite = bitwise_or(eq(abs(real(x)), infinity), eq(abs(imag(x)), infinity))
    return select_n(infinite, size, factories.filled_like(size, float("inf")))


_signed = (np.signedinteger, *operands.inexact)
abs_p: ir.Primitive = factories.nary(
    "abs",
    _abs_lower,
    _signed,
    _abs_of,
    from_result=True,
    abstract_eval=factories.nary_aval("abs", _signed, factories.real_part),
    exact=exact.elementwise(np.abs),
    checkify=makes_no_nan,
)
abs: UnaryFunction = factories.unary_function(
    abs_p, "Elementwise absolute value.", "float(lax.abs(3 + 4j)) -> 5.0"
)
