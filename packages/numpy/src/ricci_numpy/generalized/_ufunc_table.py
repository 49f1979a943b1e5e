"""The ufuncs of NumPy's elementwise functions, with the reductions and scans that they call."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import BinaryFunction, UnaryFunction
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.reductions import _axis_reductions as _reductions
from ricci_numpy.reductions import _cumulative
from ricci_numpy.reductions._kinds import checked_mask
from ricci_numpy.reductions._reduced_axes import keep_axes, reduced_axes
from ricci_numpy.ufuncs import _binary as _ufuncs_binary
from ricci_numpy.ufuncs import _unary as _ufuncs
from ricci_numpy.ufuncs._arithmetic import logaddexp as _logaddexp
from ricci_numpy.ufuncs._arithmetic import logaddexp2 as _logaddexp2

from ._ufunc_objects import ufunc

__all__ = ["add", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2"]
__all__ += ["logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply"]
__all__ += ["negative", "subtract"]


def _with_dtype(reduction: Callable[..., ir.Array]) -> Callable[..., ir.Array]:
    """``reduce`` by a reduction that takes no dtype."""

    def reduce(a, *, dtype=None, **options):
        return reduction(a if dtype is None else asarray(a, dtype=dtype), **options)

    return reduce


def _logical_reduction(reduction: Callable[..., ir.Array]) -> Callable[..., ir.Array]:
    """``reduce`` by ``all`` or ``any``, which take no dtype and no initial value."""

    def reduce(a, *, axis, dtype, keepdims, initial, where):
        result = reduction(a, axis=axis, keepdims=keepdims, where=where)
        if initial is not None:
            combine = "logical_and" if reduction is _reductions.all else "logical_or"
            result = getattr(_ufuncs_binary, combine)(result, initial)
        return result if dtype is None else asarray(result, dtype=dtype)

    return reduce


def _running(operation: Callable[[ir.Array, int], ir.Array]) -> Callable[..., ir.Array]:
    """``accumulate`` by a cumulative operation of ``lax``."""

    def accumulate(a, *, axis, dtype):
        a = asarray(a, dtype=dtype)
        (axis,) = reduced_axes("accumulate", axis, a.ndim)
        return operation(promotion.convert(a, a.dtype), axis)

    return accumulate


def _bits(reduction: ir.Primitive, name: str) -> Callable[..., ir.Array]:
    """``reduce`` of ``bitwise_and``, ``bitwise_or`` or ``bitwise_xor``."""

    def reduce(a, *, axis, dtype, keepdims, initial, where):
        a = asarray(a, dtype=dtype)
        combine = getattr(_ufuncs_binary, f"bitwise_{name}")
        axes = reduced_axes(f"bitwise_{name}.reduce", axis, a.ndim)
        if where is not None:
            # -1 has all bits set, also in unsigned dtypes, into which it wraps.
            neutral = ir.exact_scalar(-1 if name == "and" else 0, a.dtype)
            a = select_where(checked_mask(f"bitwise_{name}.reduce", where), a, neutral)
        result = reduction.bind(promotion.convert(a, a.dtype), axes=axes)
        result = (
            result if initial is None else combine(promotion.as_elements(initial, a.dtype), result)
        )
        return keep_axes(result, axes) if keepdims else result

    return reduce


def _log_of_sum(
    combine: BinaryFunction, power: UnaryFunction, log: UnaryFunction
) -> Callable[..., ir.Array]:
    """``reduce`` of ``logaddexp``: the logarithm of a sum of powers, for one base."""

    @ir.inlined("logaddexp.reduce")
    def reduced(a, where, initial, *, axes, keepdims):
        # log Σ exp(a) = m + log Σ exp(a − m): with the maximum m, no power overflows. The result
        # does not depend on m, so that its derivative is stopped.
        largest = _reductions.max(a, axes, None, True, -np.inf, where)
        # An infinite maximum is not subtracted, since the difference would be NaN.
        base = select_where(lax.is_finite(largest), largest, ir.exact_scalar(0, a.dtype))
        base = lax.stop_gradient(base)
        total = _reductions.sum(power(lax.sub(a, base)), axes, None, None, True, None, where)
        result = lax.add(log(total), base)
        result = result if initial is None else combine(result, initial)
        return result if keepdims else lax.squeeze(result, axes)

    def reduce(a, *, axis, dtype, keepdims, initial, where):
        (a,) = promotion.promote_dtypes_inexact(asarray(a, dtype=dtype))
        axes = reduced_axes("logaddexp.reduce", axis, a.ndim)
        return reduced(a, where, initial, axes=axes, keepdims=bool(keepdims))

    return reduce


def _ufunc_of(function: Callable[..., ir.Array], **options: Any) -> ufunc[ir.Array]:
    """The ufunc of an elementwise function, by default of two operands."""
    nin = options.pop("nin", 2)
    listed = ufunc(function, nin, 1, call=ir.public(function), **options)
    listed._is_listed = True
    return listed


def _strong(x: ir.Array) -> ir.Array:
    return promotion.convert(x, x.dtype)


add: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.add,
    identity=0,
    reduce=_reductions.sum,
    accumulate=_cumulative.cumsum,
    at=lambda place, b: place.add(b),
)
multiply: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.multiply,
    identity=1,
    reduce=_reductions.prod,
    accumulate=_cumulative.cumprod,
    at=lambda place, b: place.mul(b),
)
subtract: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.subtract, at=lambda place, b: place.subtract(b)
)
negative: ufunc[ir.Array] = _ufunc_of(_ufuncs.negative, nin=1)
maximum: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.maximum,
    reduce=_with_dtype(_reductions.max),
    accumulate=_running(lambda a, axis: lax.cummax(a, axis)),
    at=lambda place, b: _strong(place.max(b)),
)
minimum: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.minimum,
    reduce=_with_dtype(_reductions.min),
    accumulate=_running(lambda a, axis: lax.cummin(a, axis)),
    at=lambda place, b: _strong(place.min(b)),
)
bitwise_and: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.bitwise_and, identity=-1, exact=True, reduce=_bits(lax.reduce_and_p, "and")
)
bitwise_or: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.bitwise_or, identity=0, exact=True, reduce=_bits(lax.reduce_or_p, "or")
)
bitwise_xor: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.bitwise_xor, identity=0, exact=True, reduce=_bits(lax.reduce_xor_p, "xor")
)
logical_and: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.logical_and,
    identity=True,
    exact=True,
    reduce=_logical_reduction(_reductions.all),
)
logical_or: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.logical_or,
    identity=False,
    exact=True,
    reduce=_logical_reduction(_reductions.any),
)
logical_xor: ufunc[ir.Array] = _ufunc_of(
    _ufuncs_binary.logical_xor,
    identity=False,
    exact=True,
    reduce=lambda a, **options: bitwise_xor.reduce(
        _ufuncs.logical_not(_ufuncs.logical_not(a)), **options
    ),
)
logaddexp: ufunc[ir.Array] = _ufunc_of(
    _logaddexp, identity=-np.inf, reduce=_log_of_sum(_logaddexp, _ufuncs.exp, _ufuncs.log)
)
logaddexp2: ufunc[ir.Array] = _ufunc_of(
    _logaddexp2, identity=-np.inf, reduce=_log_of_sum(_logaddexp2, _ufuncs.exp2, _ufuncs.log2)
)
