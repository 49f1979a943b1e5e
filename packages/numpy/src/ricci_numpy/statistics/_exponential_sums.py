"""Softmax, its logarithm and ``logsumexp``, computed without overflow."""

from typing import Any, Literal, overload

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Axis, composite, dispatched, softmax_custom_jvp
from ricci_numpy._promotion import axis_tuple, inexact_dtype, operands
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.arrays._dtypes import issubdtype
from ricci_numpy.generalized._ufunc_table import add, multiply, subtract
from ricci_numpy.indexing._where import where as choose
from ricci_numpy.reductions import _axis_reductions as reductions
from ricci_numpy.reductions._reduced_axes import (
    ReducedAxis,
    keep_axes,
    reduced_and_named_axes,
    sized_axis,
)
from ricci_numpy.shapes._reshaping import broadcast_to
from ricci_numpy.ufuncs._binary import divide, less, not_equal
from ricci_numpy.ufuncs._comparison import iscomplexobj
from ricci_numpy.ufuncs._unary import exp, log, real


def to_inexact(x: ArrayLike, name: str) -> Array:
    """The operand ``x`` of a function as an array of floats or complex numbers."""
    x = asarray(operands(name, x)[0])
    if issubdtype(x.dtype, np.inexact):
        return x
    return lax.convert_element_type(x, inexact_dtype(x.dtype)[0])


def _maximum(x: Array, axis: Axis, where: ArrayLike | None, keepdims: bool = True) -> Array:
    """The largest of the elements that a mask selects, -inf if there are none.

    It may be a number beside a NaN, which makes the sum of the powers NaN.
    """
    return reductions.peak(x, axis, where, keepdims)


def _softmax(x: Array, axis: Axis, where: ArrayLike | None) -> Array:
    peak = _maximum(x, axis, where)
    x = x if where is None else choose(where, x, -np.inf)
    # Subtracting one number from all elements leaves the quotient unchanged, so its derivative by
    # the peak is 0, and no power exceeds 1.
    powers = exp(subtract(x, lax.stop_gradient(peak)))
    result = divide(powers, reductions.sum(powers, axis, where=where, keepdims=True))
    return result if where is None else choose(where, result, 0)


def _softmax_rule(
    axis: Axis, primals: tuple[Array, Any], tangents: tuple[Array, Any]
) -> tuple[Array, Array]:
    x, mask = primals
    y = _softmax_with_rule(axis, x, mask)
    # dy = y (dx - Σ y dx): the derivative needs only the result, not the powers.
    weighted = multiply(y, tangents[0])
    total = reductions.sum(weighted, axis, where=mask, keepdims=True)
    return y, subtract(weighted, multiply(y, total))


def _softmax_with_axis(axis: Axis, x: Array, where: ArrayLike | None) -> Array:
    return _softmax(x, axis, where)


_softmax_with_rule = lax.custom_jvp(_softmax_with_axis, nondiff_argnums=(0,))
_softmax_with_rule.defjvp(_softmax_rule)


def as_axis(axis: Axis) -> int | tuple[ReducedAxis, ...] | None:
    """The axis or axes as a hashable value, which has the sizes of named ones."""
    if axis is None or isinstance(axis, int):
        return axis
    return tuple(map(sized_axis, axis_tuple(axis)))


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """exp(x), scaled to sum up to 1 along axes.

    Args:
      x: an array of real numbers.
      axis: an axis, a sequence of axes, or ``None`` for all.
      where: a boolean array; elements where it is false are left out and become 0.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> ricci.nn.softmax(jnp.array([[0.0, 0.0], [1000.0, 0.0]])).tolist()  # no overflow
      [[0.5, 0.5], [1.0, 0.0]]
      >>> logits, mask = jnp.array([1.0, 9.0, 1.0]), jnp.array([True, False, True])
      >>> ricci.nn.softmax(logits, where=mask).tolist()
      [0.5, 0.0, 0.5]

    See also:
      ``log_softmax``, for losses; ``logsumexp``.

    Source: Bridle, "Probabilistic interpretation of feedforward classification network outputs",
    1990.
    """
    x, axis = to_inexact(x, "softmax"), as_axis(axis)
    if softmax_custom_jvp.value:
        return _softmax_with_rule(axis, x, where)
    return _softmax(x, axis, where)


@composite("log_softmax")
def _log_softmax(
    x: Array, where: Array | None = None, *, axis: int | tuple[ReducedAxis, ...] | None
) -> Array:
    peak = _maximum(x, axis, where)
    safe = x if where is None else choose(where, x, -np.inf)
    shifted = subtract(safe, lax.stop_gradient(peak))
    total = reductions.sum(exp(shifted), axis, where=where, keepdims=True)
    result = subtract(shifted, log(total))
    return result if where is None else choose(where, result, -np.inf)


@dispatched("axis")
def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of ``softmax``, computed without overflow.

    Args:
      x, axis, where: as for ``softmax``; elements where ``where`` is false become -inf.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Use this in losses, not ``log(softmax(x))``, which is -inf where a probability rounds to 0.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> logits, label = jnp.array([0.0, 200.0]), 0
      >>> float(-ricci.nn.log_softmax(logits)[label])
      200.0
      >>> float(-jnp.log(ricci.nn.softmax(logits))[label])
      inf

    See also:
      ``softmax``, ``logsumexp``.
    """
    masks = () if where is None else (where,)
    return _log_softmax(to_inexact(x, "log_softmax"), *masks, axis=as_axis(axis))


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]: ...
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """log(sum(b · exp(a))) along axes, computed without overflow.

    Args:
      a: an array.
      axis: an axis, a sequence of axes, or ``None`` for all.
      b: factors, of a shape that broadcasts with that of ``a``.
      keepdims: whether reduced axes stay, with size 1.
      return_sign: whether to return the sum's sign as well, the result then being the logarithm
        of its magnitude; without it a negative sum gives NaN.
      where: a boolean array; elements where it is false are left out.

    Returns:
      An array of the shape of ``a`` without the axes, of a float or complex dtype; a pair of arrays
      with ``return_sign``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> logs = jnp.array([1000.0, 1000.0])
      >>> round(float(ricci.nn.logsumexp(logs)), 2), float(jnp.log(jnp.exp(logs).sum()))
      (1000.69, inf)
      >>> ricci.nn.logsumexp(jnp.array([[0.0, -jnp.inf], [5.0, -jnp.inf]]), axis=1).tolist()
      [0.0, 5.0]

    See also:
      ``softmax``, its gradient; ``logmeanexp``; ``numpy.logaddexp``, of two arrays.

    Source: scipy.special.logsumexp.
    """
    x, axes = to_inexact(a, "logsumexp"), as_axis(axis)
    if b is not None:
        b = to_inexact(b, "logsumexp")
        x = choose(not_equal(b, 0), x, -np.inf)
        shape = lax.broadcast_shapes(x.shape, b.shape)
        x = broadcast_to(x, shape)
    if where is not None:
        x = choose(where, x, 0)
    peak = _maximum(real(x) if iscomplexobj(x) else x, axes, where, keepdims)
    # An infinite peak would give NaN, as inf - inf.
    peak = lax.select(lax.is_finite(peak), peak, lax.full_like(peak, 0))
    peak = lax.stop_gradient(peak)
    shift = peak if keepdims else keep_axes(peak, reduced_and_named_axes("logsumexp", axes, x.ndim))
    powers = exp(subtract(x, lax.convert_element_type(shift, x.dtype)))
    if b is not None:
        powers = multiply(powers, b)
    total = reductions.sum(powers, axes, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    if return_sign or not iscomplexobj(total):
        total = lax.abs(total)
    result = add(log(total), lax.convert_element_type(peak, total.dtype))
    if return_sign:
        return result, sign
    if b is not None and not iscomplexobj(result):
        result = choose(less(sign, 0), np.nan, result)
    return result
