"""Polynomials, evaluated by Horner's rule."""

from collections.abc import Sequence
from functools import reduce
from operator import index

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, add_tangents
from ricci_lax.control_flow._loops import scan
from ricci_lax.elementwise import add, mul
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import filled_like, nary, repeat_to, strong_like
from ricci_lax.shapes._joining import concatenate
from ricci_lax.structure._broadcasting import expand_dims
from ricci_lax.structure._operand_types import (
    array_aval,
    broadcast_result_shape,
    check_dtype,
    check_same_dtype,
    numeric,
)
from ricci_stablehlo import traced

__all__ = ["polynomial", "polynomial_p"]

# Compilation takes time by the steps that are written out.
_MAX_WRITTEN = 128
_STEPS = 16


def _polynomial_aval(x: ir.ShapedArray, *coefficients: ir.ShapedArray) -> ir.ShapedArray:
    check_dtype("polynomial", x, numeric)
    check_same_dtype("polynomial", x, *coefficients)
    shape = broadcast_result_shape("polynomial", x, *coefficients)
    return ir.ShapedArray(shape, x.dtype, x.weak_type)


def _shape(*xs: ir.ArrayLike) -> tuple[int, ...]:
    return broadcast_result_shape("polynomial", *map(array_aval, xs))


def _horner(x: ir.ArrayLike, *coefficients: ir.ArrayLike) -> ir.ArrayLike:
    value: ir.ArrayLike = reduce(lambda y, c: add(mul(y, x), c), reversed(coefficients))
    return repeat_to(value, _shape(x, *coefficients))


def _polynomial_jvp(primals, tangents):
    (x, *coefficients), (t, *changes) = primals, tangents
    result = polynomial_p.bind(x, *coefficients)
    by_x = Zero.from_primal(result)
    if type(t) is not Zero and len(coefficients) > 1:
        slopes = [mul(strong_like(c, k), c) for k, c in enumerate(coefficients[1:], 1)]
        slope = polynomial_p.bind(x, *slopes) if len(slopes) > 1 else slopes[0]
        by_x = repeat_to(mul(t, slope), _shape(*primals))
    # The result is linear in the coefficients. Horner's rule again; zeros are left out.
    by_coefficients = Zero.from_primal(result)
    for change in reversed(changes):
        if type(by_coefficients) is not Zero:
            by_coefficients = mul(by_coefficients, x)
        if type(change) is not Zero:
            by_coefficients = add_tangents(by_coefficients, repeat_to(change, _shape(*primals)))
    return result, add_tangents(by_x, by_coefficients)


polynomial_p: ir.Primitive = nary(
    "polynomial", traced(_horner), numeric, abstract_eval=_polynomial_aval, jvp=_polynomial_jvp
)


def polynomial(
    x: ir.ArrayLike, coeffs: Sequence[ir.ArrayLike], *, unroll: int | bool | None = None
) -> ir.Array:
    """Elementwise polynomial: ``coeffs[0] + coeffs[1] * x + coeffs[2] * x**2 + ...``.

    Args:
      x: an array of an integer, float or complex dtype.
      coeffs: the coefficients, that of the constant first: scalars, or arrays of the rank of ``x``;
        they are converted to the dtype of ``x``.
      unroll: how many steps of Horner's rule to write out, of a loop over the others; ``True``
        writes out all, ``False`` one. By default all are written out, but 16 at a time where there
        are more than 128.

    Returns:
      An array of the dtype of ``x``, with the shape of it and the coefficients, sizes of 1
      repeated; zeros without any coefficients.

    Raises:
      TypeError: if ``x`` is boolean, a coefficient is complex and ``x`` is not, or the shapes do
        not fit.
      ValueError: if ``unroll`` is negative.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.polynomial(jnp.array([1.0, 2.0]), [1.0, 2.0, 3.0]).tolist()
      [6.0, 17.0]

    See also:
      ``jnp.polyval``, which takes the highest power first.

    Source: Horner's rule.
    """
    aval = array_aval(x)
    if unroll is not None and (unroll := True if unroll is True else index(unroll)) < 0:
        raise ValueError(f"polynomial: unroll must be a bool or at least 0, got {unroll}.")
    terms = [_coefficient(aval, c) for c in coeffs]
    if not terms:
        return filled_like(x, 0)
    count = len(terms)
    if unroll is None:
        unroll = count if count <= _MAX_WRITTEN else _STEPS
    if count == 1 and np.shape(terms[0]) == np.shape(x):
        check_dtype("polynomial", aval, numeric)
        return ir.as_array(converted(terms[0], aval.dtype))
    if unroll is True or unroll >= count - 1:
        return polynomial_p.bind(x, *terms)
    check_dtype("polynomial", aval, numeric)
    shape = _shape(x, *terms)
    if any(map(np.ndim, terms)):  # scalars are kept, and repeated within the loop
        terms = [repeat_to(c, shape) for c in terms]
    *others, highest = terms
    rows = concatenate([expand_dims(c, (0,)) for c in others[::-1]], 0)
    step = lambda y, c: (converted(add(mul(y, x), repeat_to(c, shape)), aval.dtype), None)
    start = ir.as_array(converted(repeat_to(highest, shape), aval.dtype))
    return scan(step, start, rows, unroll=unroll or 1)[0]


def _coefficient(aval: ir.ShapedArray, c: ir.ArrayLike) -> ir.ArrayLike:
    is_complex = [
        ir.issubdtype(dtype, np.complexfloating) for dtype in (array_aval(c).dtype, aval.dtype)
    ]
    if is_complex == [True, False]:
        raise TypeError(
            f"polynomial: a coefficient is complex, and x has dtype {aval.dtype}. Convert x first."
        )
    return converted(c, aval.dtype)
