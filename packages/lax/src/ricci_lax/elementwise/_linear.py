"""Sums, differences and negatives; complex numbers and their parts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ricci_autodiff import Zero, is_undefined_primal, linear, linear_given
from ricci_ir import Array, ArrayLike, Primitive, ShapedArray, issubdtype, linear_in_all
from ricci_lax.rules._checkify import makes_no_nan
from ricci_lax.structure import _exact_rules as exact
from ricci_lax.structure._operand_types import anything, array_aval, numeric, shape_of
from ricci_stablehlo import Lowering, Value, tensor_type

from . import _factories as factories

__all__ = ["add", "add_any_p", "add_p", "complex", "complex_p", "conj", "conj_p", "imag", "imag_p"]
__all__ += ["neg", "neg_p", "real", "real_p", "sub", "sub_p"]

neg_p: Primitive = factories.nary(
    "neg",
    "stablehlo.negate",
    numeric,
    jvp=linear,
    transpose=lambda ct, x: [neg_p.bind(ct)],
    exact=exact.elementwise(np.negative),
    checkify=makes_no_nan,
)
neg: factories.UnaryFunction = factories.unary_function(
    neg_p, "Elementwise ``-x``.", "float(lax.neg(2.0)) -> -2.0"
)


def _sum_rules(primitive: Callable[[], Primitive], negate_rhs: bool) -> dict[str, Any]:
    """The derivatives of a sum or difference, which repeat a tangent of a smaller operand."""

    def tangent(result: Any, primals: Any, tangents: Any) -> Any:
        s, t = tangents
        if type(s) is not Zero and type(t) is not Zero:
            return primitive().bind(s, t)
        tangent_term: Any = s if type(t) is Zero else neg(t) if negate_rhs else t
        return factories.repeat_to(tangent_term, shape_of(result))

    return linear_given(tangent)


def _sum_transpose(ct, x, y, *, negate_rhs=False):
    lhs = factories.sum_to(ct, x.aval.shape) if is_undefined_primal(x) else None
    if not is_undefined_primal(y):
        return lhs, None
    return lhs, factories.sum_to(neg(ct) if negate_rhs else ct, y.aval.shape)


add_p: Primitive = factories.nary(
    "add",
    "stablehlo.add",
    numeric,
    **_sum_rules(lambda: add_p, negate_rhs=False),
    sums=linear_in_all,
    transpose=_sum_transpose,
    exact=exact.elementwise(np.add),
)
# The sum of two tangents, of one type; booleans are there for tangents of no information.
add_any_p: Primitive = factories.nary(
    "add_any",
    "stablehlo.add",
    anything,
    jvp=linear,
    transpose=lambda ct, x, y: [ct if is_undefined_primal(z) else None for z in (x, y)],
)
sub_p: Primitive = factories.nary(
    "sub",
    "stablehlo.subtract",
    numeric,
    **_sum_rules(lambda: sub_p, negate_rhs=True),
    sums=linear_in_all,
    transpose=partial(_sum_transpose, negate_rhs=True),
    exact=exact.elementwise(np.subtract),
)
add: factories.BinaryFunction = factories.binary_function(
    add_p,
    "Elementwise ``x + y``.",
    "lax.add(jnp.array([[1], [2]]), jnp.array([[10, 20]])).tolist() -> [[11, 21], [12, 22]]",
)
sub: factories.BinaryFunction = factories.binary_function(
    sub_p, "Elementwise ``x - y``.", "lax.sub(jnp.array([5, 7]), 2).tolist() -> [3, 5]"
)


def add_any(x: ArrayLike, y: ArrayLike) -> Array:
    """The sum of two tangents of one type."""
    return add_any_p.bind(x, y)


_complex = (np.complexfloating,)
_parts = (np.float32, np.float64)


def _part(name: str, transpose: Callable[..., Any]) -> Primitive:
    return factories.nary(
        name,
        f"stablehlo.{name}",
        _complex,
        abstract_eval=factories.nary_aval(name, _complex, factories.real_part),
        jvp=linear,
        transpose=transpose,
        checkify=makes_no_nan,
    )


def _strong_zero(ct: ArrayLike) -> ArrayLike:
    """The other part of a complex cotangent, which is strongly typed, as in JAX."""
    return factories.scalar(0, array_aval(ct).dtype)


real_p: Primitive = _part("real", lambda ct, x: [complex_p.bind(ct, _strong_zero(ct))])
# Cotangents pair with tangents without conjugation, hence the sign.
imag_p: Primitive = _part("imag", lambda ct, x: [complex_p.bind(_strong_zero(ct), neg(ct))])


def _complex_transpose(ct, x, y):
    lhs = factories.sum_to(real(ct), x.aval.shape) if is_undefined_primal(x) else None
    rhs = factories.sum_to(imag(neg(ct)), y.aval.shape) if is_undefined_primal(y) else None
    return lhs, rhs


def write_complex(ctx: Lowering, x: Value, y: Value, out: ShapedArray) -> Value:
    """Write ``stablehlo.complex``."""
    return ctx.emit("stablehlo.complex", [x, y], out, types=tensor_type(out))


def _complex_lower(ctx: Lowering, x: Value, y: Value) -> Value:
    out = ctx.out
    x, y = factories.in_full_shape(ctx, [x, y])
    return write_complex(ctx, x, y, out)


complex_p: Primitive = factories.nary(
    "complex",
    _complex_lower,
    _parts,
    abstract_eval=factories.nary_aval("complex", _parts, factories.complex_of),
    jvp=linear,
    transpose=_complex_transpose,
    checkify=makes_no_nan,
)


def _conj_transpose(ct, x, *, input_dtype):
    if issubdtype(input_dtype, np.complexfloating):
        return [conj_p.bind(ct, input_dtype=input_dtype)]
    # The result of a real operand has no imaginary part that depends on it.
    return [real(ct)]


def _conj_lower(ctx: Lowering, x: Value, *, input_dtype: np.dtype) -> Value:
    out = ctx.out
    part = out.update(dtype=factories.real_part(out.dtype))
    if not issubdtype(x.dtype, np.complexfloating):
        zero = ctx.broadcast_to(ctx.constant(0, part.resized(())), part.shape)
        return write_complex(ctx, x, zero, out)
    real_value = ctx.emit("stablehlo.real", [x], part)
    imaginary = ctx.emit("stablehlo.imag", [x], part)
    negated = ctx.emit("stablehlo.negate", [imaginary], part)
    return write_complex(ctx, real_value, negated, out)


_conjugated = (*_parts, np.complexfloating)
conj_p: Primitive = factories.nary(
    "conj",
    _conj_lower,
    _conjugated,
    abstract_eval=factories.nary_aval("conj", _conjugated, factories.complex_of),
    jvp=linear,
    transpose=_conj_transpose,
    sums=None,  # the compiler refuses terms of a sum between its several operations
    checkify=makes_no_nan,
)
real: factories.UnaryFunction = factories.unary_function(
    real_p, "Elementwise real part.", "float(lax.real(1 + 2j)) -> 1.0"
)
imag: factories.UnaryFunction = factories.unary_function(
    imag_p, "Elementwise imaginary part.", "float(lax.imag(1 + 2j)) -> 2.0"
)
complex: factories.BinaryFunction = factories.binary_function(
    complex_p,
    "Complex numbers of real parts and imaginary ones.",
    "lax.complex(1.0, 2.0).item() -> (1+2j)",
)


def conj(x: ArrayLike) -> Array:
    """Elementwise complex conjugate; real numbers become complex ones.

    Args:
      x: an array of complex numbers, float32 or float64.

    Returns:
      An array of the shape of ``x``, of a complex dtype.

    Example:
      >>> from ricci import lax
      >>> lax.conj(1 + 2j).item()
      (1-2j)
    """
    return conj_p.bind(x, input_dtype=array_aval(x).dtype)
