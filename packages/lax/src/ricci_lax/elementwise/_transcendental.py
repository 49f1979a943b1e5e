"""Transcendental functions, roots and powers."""

from collections.abc import Callable, Container
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import per_operand, per_operand_with_result
from ricci_lax.elementwise._factories import BinaryFunction, UnaryFunction
from ricci_lax.structure._operand_types import (
    array_aval,
    broadcast_result_shape,
    check_dtype,
    floating,
    inexact,
    numeric,
    shape_of,
)
from ricci_stablehlo import Lowering, Value, traced

from ._accuracy import (
    Accuracy,
    AccurateFunction,
    accurate,
    accurate_function,
    accurately,
    emit_accurately,
    shown_accuracy,
)
from ._arithmetic import abs, div, integer_pow, mul, one_minus_square, replace_zero, square
from ._comparison import eq, gt, lt, select
from ._complex_corners import with_corners
from ._conversion import converted
from ._cpu_formulas import vectorised_on_cpus
from ._factories import (
    binary_function,
    filled_like,
    lower_to,
    nary,
    repeat_to,
    scalar_like,
    strong_like,
    unary_function,
)
from ._linear import add, complex, imag, neg, real, sub
from ._piecewise_linear import max

__all__ = ["acos", "acos_p", "acosh", "acosh_p", "asin", "asin_p", "asinh", "asinh_p", "atan"]
__all__ += ["atan2", "atan2_p", "atan_p", "atanh", "atanh_p", "cbrt", "cbrt_p", "cos", "cos_p"]
__all__ += ["cosh", "cosh_p", "exp", "exp2", "exp2_p", "exp_p", "expm1", "expm1_p", "log", "log1p"]
__all__ += ["log1p_p", "log2", "log2_p", "log_p", "logistic", "logistic_p", "pow", "pow_p", "rsqrt"]
__all__ += ["rsqrt_p", "sin", "sin_p", "sinh", "sinh_p", "sqrt", "sqrt_p", "tan", "tan_p", "tanh"]
__all__ += ["tanh_p"]

# Accuracy


# Exponentials and logarithms


def _exp2_lower(ctx: Lowering, x: Value, *, accuracy: Accuracy = None) -> Value:
    out = ctx.out
    # Rounded to 8 or 11 bits, x ln 2 would lose up to a third of the result.
    wide = out.update(dtype=np.dtype("float32")) if out.dtype.itemsize < 4 else out
    x = x if wide is out else ctx.emit("stablehlo.convert", [x], wide)
    ln2 = ctx.broadcast_to(ctx.constant(np.log(2.0), wide.resized(())), out.shape)
    scaled = ctx.emit("stablehlo.multiply", [ln2, x], wide)
    power = emit_accurately(ctx, "stablehlo.exponential", scaled, wide, accuracy)
    return power if wide is out else ctx.emit("stablehlo.convert", [power], out)


def _vectorised(name: str, op: str, **options: Container[str]) -> Callable[..., Value]:
    """The lowering to an operation, or on CPUs to a formula."""
    return vectorised_on_cpus(name, with_corners(name, accurately(op)), **options)


_WIDE = ("float64",)  # XLA vectorises those of float32
_log_lower = _vectorised("log", "stablehlo.log", dtypes=_WIDE)


def _log2_lower(ctx: Lowering, x: Value, *, accuracy: Accuracy = None) -> Value:
    return traced(_divided_by_ln2)(ctx, _log_lower(ctx, x, accuracy=accuracy))


def _divided_by_ln2(x: ir.Array) -> ir.Array:
    if ir.issubdtype(array_aval(x).dtype, np.complexfloating):
        # Part by part: the product of complex numbers would add 0 · ∞, which is NaN, to the other
        # part.
        return complex(_divided_by_ln2(real(x)), _divided_by_ln2(imag(x)))
    return mul(x, scalar_like(x, 1 / np.log(2.0)))


def in_wide_floats(fun: Callable[..., ir.Array]) -> Callable[..., ir.Array]:
    """``fun``, computed in float32 for narrower floats, whose steps would round and overflow."""

    def apply(*xs: ir.Array, **params: Any) -> ir.Array:
        dtype = array_aval(xs[0]).dtype
        if dtype.itemsize >= 4:
            return fun(*xs, **params)
        wide = [converted(x, np.dtype("float32")) for x in xs]
        return converted(fun(*wide, **params), dtype)

    return apply


def _logistic(x: ir.Array, *, accuracy: Accuracy = None) -> ir.Array:
    # Where exp(-x) overflows, the quotient is 0, which is right.
    one = scalar_like(x, 1)
    return div(one, add(one, exp(neg(x))))


def _logistic_derivative(t, y, x, *, accuracy=None):
    if accuracy is None:
        return mul(t, mul(y, sub(scalar_like(y, 1), y)))
    return mul(t, mul(y, logistic(neg(x))))


def _tanh_derivative(t, y, x, *, accuracy=None):
    if accuracy is None:
        return mul(t, one_minus_square(y))
    # 1 - tanh(x)² = 4 logistic(2x) logistic(-2x), which does not cancel where tanh is near 1.
    halves = (logistic(mul(scalar_like(x, factor), x), accuracy=accuracy) for factor in (2, -2))
    return mul(t, mul(scalar_like(x, 4), mul(*halves)))


exp_p: ir.Primitive = accurate(
    "exp",
    _vectorised("exp", "stablehlo.exponential", dtypes=_WIDE),
    inexact,
    lambda t, y, x: mul(t, y),
)
exp2_p: ir.Primitive = accurate(
    "exp2", _exp2_lower, inexact, lambda t, y, x: mul(log(strong_like(y, 2)), mul(t, y))
)
# The derivative y + 1 would cancel where y is near -1.
expm1_p: ir.Primitive = accurate(
    "expm1",
    _vectorised("expm1", "stablehlo.exponential_minus_one"),
    inexact,
    jvp=per_operand(lambda t, x, **params: mul(t, in_wide_floats(exp)(x, **params))),
)
log_p: ir.Primitive = accurate("log", _log_lower, inexact, lambda t, y, x: div(t, x))
log1p_p: ir.Primitive = accurate(
    "log1p",
    _vectorised("log1p", "stablehlo.log_plus_one"),
    inexact,
    lambda t, y, x: div(t, add(x, scalar_like(x, 1))),
)
log2_p: ir.Primitive = accurate(
    "log2", _log2_lower, inexact, lambda t, y, x: mul(t, div(strong_like(x, 1 / np.log(2.0)), x))
)
tanh_p: ir.Primitive = accurate(
    "tanh", "stablehlo.tanh", inexact, jvp=per_operand_with_result(_tanh_derivative)
)
logistic_p: ir.Primitive = accurate(
    "logistic", traced(_logistic), inexact, jvp=per_operand_with_result(_logistic_derivative)
)

exp: AccurateFunction = accurate_function(
    exp_p, "Elementwise e to the power of ``x``.", "round(float(lax.exp(1.0)), 4) -> 2.7183"
)
exp2: AccurateFunction = accurate_function(
    exp2_p,
    "Elementwise 2 to the power of ``x``.",
    "lax.exp2(jnp.array([3.0, -1.0])).round(4).tolist() -> [8.0, 0.5]",
)
expm1: AccurateFunction = accurate_function(
    expm1_p, "Elementwise ``exp(x) - 1``, accurate near 0.", "float(lax.expm1(1e-8)) > 0 -> True"
)
log: AccurateFunction = accurate_function(
    log_p, "Elementwise natural logarithm.", "round(float(lax.log(10.0)), 4) -> 2.3026"
)
log1p: AccurateFunction = accurate_function(
    log1p_p, "Elementwise ``log(1 + x)``, accurate near 0.", "float(lax.log1p(1e-8)) > 0 -> True"
)
log2: AccurateFunction = accurate_function(
    log2_p, "Elementwise logarithm to base 2.", "round(float(lax.log2(8.0)), 4) -> 3.0"
)
tanh: AccurateFunction = accurate_function(
    tanh_p, "Elementwise hyperbolic tangent.", "round(float(lax.tanh(1.0)), 4) -> 0.7616"
)
logistic: AccurateFunction = accurate_function(
    logistic_p,
    "Elementwise ``1 / (1 + exp(-x))``.",
    "[round(p, 4) for p in lax.logistic(jnp.array([0.0, 2.0])).tolist()] -> [0.5, 0.8808]",
)

# Roots


def _sqrt_jvp(t, y, x, *, accuracy=None, flat_at_zero=False):
    # The derivative at 0 is infinite; of norms, whose squares have the derivative 0 there, the
    # parameter makes it finite, so that their product is the subgradient 0.
    y = replace_zero(y) if flat_at_zero else y
    return mul(t, div(strong_like(x, 0.5), y))


def _sqrt_lower(ctx: Lowering, x: Value, *, accuracy=None, flat_at_zero=False) -> Value:
    return with_corners("sqrt", accurately("stablehlo.sqrt"))(ctx, x, accuracy=accuracy)


sqrt_p: ir.Primitive = accurate(
    "sqrt",
    _sqrt_lower,
    inexact,
    jvp=per_operand_with_result(_sqrt_jvp),
    shown=ir.hides(accuracy=None, flat_at_zero=True),
)
rsqrt_p: ir.Primitive = accurate(
    "rsqrt",
    "stablehlo.rsqrt",
    inexact,
    lambda t, y, x: mul(t, div(mul(strong_like(x, -0.5), y), x)),
)
cbrt_p: ir.Primitive = accurate(
    "cbrt",
    _vectorised("cbrt", "stablehlo.cbrt"),
    floating,
    lambda t, y, x: mul(t, mul(strong_like(x, 1 / 3), integer_pow(y, -2))),
)

sqrt: AccurateFunction = accurate_function(
    sqrt_p, "Elementwise square root.", "lax.sqrt(jnp.array([9.0, -1.0])).tolist() -> [3.0, nan]"
)
rsqrt: AccurateFunction = accurate_function(
    rsqrt_p,
    "Elementwise reciprocal of the square root.",
    "lax.rsqrt(jnp.array([4.0, 0.0])).tolist() -> [0.5, inf]",
)
cbrt: AccurateFunction = accurate_function(
    cbrt_p, "Elementwise cube root.", "round(float(lax.cbrt(-27.0)), 4) -> -3.0"
)

# Trigonometry


def _circular_parts(x: ir.Array) -> tuple[ir.Array, ir.Array, ir.Array, ir.Array, ir.Array]:
    """For a + bi: whether a is 0, sin a, cos a, sinh b and cosh b."""
    a, b = real(x), imag(x)
    # By exp(b) - exp(-b) the hyperbolic sine would lose its digits near 0; expm1 has them all.
    up, down = expm1(b), expm1(neg(b))
    two = scalar_like(a, 2)
    sinh_b, cosh_b = div(sub(up, down), two), div(add(add(up, down), two), two)
    return eq(a, scalar_like(a, 0)), sin(a), cos(a), sinh_b, cosh_b


def _complex_sin(x: ir.Array, *, accuracy: Accuracy = None) -> ir.Array:
    imaginary, s, c, sinh_b, cosh_b = _circular_parts(x)
    # On the imaginary axis 0 · cosh(b) is NaN for infinite b; the real part is 0.
    height = mul(c, sinh_b)
    return select(
        imaginary, complex(filled_like(height, 0), height), complex(mul(s, cosh_b), height)
    )


def _complex_cos(x: ir.Array, *, accuracy: Accuracy = None) -> ir.Array:
    imaginary, s, c, sinh_b, cosh_b = _circular_parts(x)
    # On the imaginary axis 0 · sinh(b) is NaN for infinite b; the imaginary part is 0.
    width = mul(c, cosh_b)
    return select(
        imaginary, complex(width, filled_like(width, 0)), complex(width, mul(neg(s), sinh_b))
    )


def _circular(
    name: str, op: str, of_complex: Callable[..., ir.Array], derivative: Callable[..., ir.Array]
) -> ir.Primitive:
    def lower(ctx: Lowering, x: Value, *, accuracy: Accuracy = None) -> Value:
        if ir.issubdtype(x.dtype, np.complexfloating):
            return traced(of_complex)(ctx, x, accuracy=accuracy)
        return emit_accurately(ctx, op, x, ctx.out, accuracy)

    rule = vectorised_on_cpus(name, with_corners(name, lower))
    return accurate(name, rule, inexact, jvp=per_operand(derivative))


sin_p: ir.Primitive = _circular(
    "sin",
    "stablehlo.sine",
    _complex_sin,
    lambda t, x, *, accuracy=None: mul(t, cos(x, accuracy=accuracy)),
)
cos_p: ir.Primitive = _circular(
    "cos",
    "stablehlo.cosine",
    _complex_cos,
    lambda t, x, *, accuracy=None: neg(mul(t, sin(x, accuracy=accuracy))),
)
tan_p: ir.Primitive = accurate(
    "tan",
    _vectorised("tan", "stablehlo.tan"),
    inexact,
    lambda t, y, x: mul(t, add(strong_like(y, 1), square(y))),
)

sin: AccurateFunction = accurate_function(
    sin_p, "Elementwise sine of an angle in radians.", "round(float(lax.sin(1.0)), 4) -> 0.8415"
)
cos: AccurateFunction = accurate_function(
    cos_p, "Elementwise cosine of an angle in radians.", "round(float(lax.cos(1.0)), 4) -> 0.5403"
)
tan: AccurateFunction = accurate_function(
    tan_p, "Elementwise tangent of an angle in radians.", "round(float(lax.tan(1.0)), 4) -> 1.5574"
)


@in_wide_floats
def _atan_derivative(t: ir.Array, x: ir.Array) -> ir.Array:
    return div(t, add(strong_like(x, 1), square(x)))


@in_wide_floats
def _over_root_of_one_plus_square(x: ir.Array) -> ir.Array:
    one, dtype = scalar_like(x, 1), array_aval(x).dtype
    inverse_root = rsqrt(add(square(x), one))
    if ir.issubdtype(dtype, np.complexfloating):
        return inverse_root
    # Of numbers whose square may be infinite it is 1 / |x|; the bound is far below their size.
    bound = scalar_like(x, 2.0 ** (ir.finfo(dtype).maxexp // 2 - 4))
    return max(inverse_root, div(one, max(abs(x), bound)))


def _chlo(name: str, derivative: Callable[..., ir.Array], **rules: Any) -> ir.Primitive:
    lower = vectorised_on_cpus(name, with_corners(name, lower_to(f"chlo.{name}")))
    return nary(name, lower, inexact, derivative, **rules)


asin_p: ir.Primitive = _chlo("asin", lambda t, x: mul(t, rsqrt(one_minus_square(x))))
acos_p: ir.Primitive = _chlo("acos", lambda t, x: mul(t, neg(rsqrt(one_minus_square(x)))))
atan_p: ir.Primitive = _chlo("atan", _atan_derivative)
sinh_p: ir.Primitive = _chlo("sinh", lambda t, x: mul(t, cosh(x)))
cosh_p: ir.Primitive = _chlo("cosh", lambda t, x: mul(t, sinh(x)))
asinh_p: ir.Primitive = _chlo("asinh", lambda t, x: mul(t, _over_root_of_one_plus_square(x)))
# Two roots, since that of the product x² - 1 has other branch cuts for complex x.
acosh_p: ir.Primitive = _chlo(
    "acosh",
    lambda t, x: mul(t, mul(rsqrt(sub(x, scalar_like(x, 1))), rsqrt(add(x, scalar_like(x, 1))))),
)
atanh_p: ir.Primitive = _chlo("atanh", lambda t, x: div(t, one_minus_square(x)))

asin: UnaryFunction = unary_function(
    asin_p, "Elementwise inverse sine, in radians.", "round(float(lax.asin(1.0)), 4) -> 1.5708"
)
acos: UnaryFunction = unary_function(
    acos_p, "Elementwise inverse cosine, in radians.", "round(float(lax.acos(-1.0)), 4) -> 3.1416"
)
atan: UnaryFunction = unary_function(
    atan_p, "Elementwise inverse tangent, in radians.", "round(float(lax.atan(1.0)), 4) -> 0.7854"
)
sinh: UnaryFunction = unary_function(
    sinh_p, "Elementwise hyperbolic sine.", "round(float(lax.sinh(1.0)), 4) -> 1.1752"
)
cosh: UnaryFunction = unary_function(
    cosh_p, "Elementwise hyperbolic cosine.", "round(float(lax.cosh(1.0)), 4) -> 1.5431"
)
asinh: UnaryFunction = unary_function(
    asinh_p, "Elementwise inverse hyperbolic sine.", "round(float(lax.asinh(1.0)), 4) -> 0.8814"
)
acosh: UnaryFunction = unary_function(
    acosh_p, "Elementwise inverse hyperbolic cosine.", "round(float(lax.acosh(2.0)), 4) -> 1.317"
)
atanh: UnaryFunction = unary_function(
    atanh_p, "Elementwise inverse hyperbolic tangent.", "round(float(lax.atanh(0.5)), 4) -> 0.5493"
)


def _power_of_two(size: ir.Array) -> ir.Array:
    """A power of two that brings the squares of large and small positive numbers into the dtype."""
    exponent = ir.finfo(array_aval(size).dtype).maxexp
    bound, power = 2.0 ** (exponent // 2 - 4), 2.0 ** (exponent * 5 // 8)
    small, large = lt(size, scalar_like(size, 1 / bound)), gt(size, scalar_like(size, bound))
    factor = select(small, filled_like(size, power), filled_like(size, 1))
    return select(large, filled_like(size, 1 / power), factor)


@in_wide_floats
def _over_norm_squared(z: ir.Array, x: ir.Array, y: ir.Array) -> ir.Array:
    """z / (x² + y²), of real numbers without overflow and underflow of the squares."""
    if ir.issubdtype(array_aval(x).dtype, np.complexfloating):
        return div(z, add(square(x), square(y)))
    factor = _power_of_two(max(abs(x), abs(y)))
    squares = add(square(mul(factor, x)), square(mul(factor, y)))
    return mul(factor, div(mul(factor, z), squares))


atan2_p: ir.Primitive = nary(
    "atan2",
    vectorised_on_cpus("atan2", lower_to("stablehlo.atan2")),
    inexact,
    lambda t, x, y: mul(t, _over_norm_squared(y, x, y)),
    lambda t, x, y: mul(t, _over_norm_squared(neg(x), x, y)),
)
atan2: BinaryFunction = binary_function(
    atan2_p,
    "Elementwise angle of the point with ordinate ``x`` and abscissa ``y``, in radians.",
    "round(float(lax.atan2(1.0, -1.0)), 4) -> 2.3562",
)

# Powers


def _pow_aval(x: ir.ShapedArray, y: ir.ShapedArray, *, accuracy: Accuracy = None) -> ir.ShapedArray:
    check_dtype("pow", x, inexact)
    check_dtype("pow", y, numeric)
    if x.dtype != y.dtype and not ir.issubdtype(y.dtype, np.integer):
        raise TypeError(
            f"pow: {x.dtype} to the power {y.dtype} is not defined. Give a float or complex "
            "base, and an exponent of the same dtype or of integers."
        )
    weak = x.weak_type and y.weak_type
    return ir.ShapedArray(broadcast_result_shape("pow", x, y), x.dtype, weak)


def _pow_by_base(t, result, x, y):
    dtype = array_aval(x).dtype
    whole = ir.issubdtype(array_aval(y).dtype, np.integer)
    y = converted(y, dtype)
    if not whole:
        x = converted(x, dtype)
        return mul(t, mul(y, pow(x, sub(y, filled_like(y, 1)))))
    # The exponent 0 is a constant: there 0 * x ** -1 may not be 0.
    x, y = repeat_to(x, shape_of(result)), repeat_to(y, shape_of(result))
    constant, zeros = eq(y, scalar_like(y, 0)), filled_like(y, 0)
    slope = mul(replace_zero(y), pow(x, sub(y, filled_like(y, 1))))
    return mul(t, select(constant, zeros, slope))


def _pow_lower(ctx: Lowering, x: Value, y: Value, *, accuracy: Accuracy = None) -> Value:
    out = ctx.out
    if y.dtype != x.dtype:
        y = ctx.emit("stablehlo.convert", [y], y.aval.update(dtype=x.dtype))
    return ctx.emit("stablehlo.power", [ctx.broadcast_to(z, out.shape) for z in (x, y)], out)


# At 0 the derivative by the exponent is 0, where log(0) * 0 would be NaN.
pow_p: ir.Primitive = nary(
    "pow",
    vectorised_on_cpus("pow", _pow_lower),
    inexact,
    _pow_by_base,
    lambda t, result, x, y: mul(t, mul(log(replace_zero(x)), result)),
    from_result=True,
    abstract_eval=_pow_aval,
    shown=shown_accuracy,
)
pow: BinaryFunction = binary_function(
    pow_p,
    "Elementwise ``x ** y``; the exponent may be of an integer dtype.",
    "lax.pow(jnp.array([2.0, 9.0]), jnp.array([3.0, 0.5])).round(4).tolist() -> [8.0, 3.0]",
)
