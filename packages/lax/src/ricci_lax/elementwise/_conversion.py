"""Changes of dtype."""

from operator import index
from typing import overload

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, linear, linear_given, not_linear, zero_derivative
from ricci_batching import elementwise, move_dim
from ricci_ir import Array, ArrayLike, DTypeLike, FactorMap, Primitive, ShapedArray
from ricci_lax.structure import _exact_rules as exact
from ricci_lax.structure._operand_types import array_aval, check_dtype, floating
from ricci_stablehlo import Lowering, Value

from ._comparison import compare
from ._factories import real_part

__all__ = ["bitcast_convert_type", "bitcast_convert_type_p", "convert_element_type"]
__all__ += ["convert_element_type_p", "reduce_precision", "reduce_precision_p"]

# convert_element_type


def _convert_aval(x: ShapedArray, *, new_dtype: np.dtype, weak_type: bool, sharding) -> ShapedArray:
    if ir.is_extended(x.dtype) or ir.is_extended(new_dtype):
        are_keys = all(
            ir.issubdtype(d, ir.prng_key) for d in (x.dtype, new_dtype) if ir.is_extended(d)
        )
        why = (
            "random keys are not numbers. random.key_data gives the integers that make up a key, "
            "and random.wrap_key_data makes a key of such integers."
            if are_keys
            else "of dtypes that others define only those of random keys are supported. Keep the "
            "numbers themselves."
        )
        raise ValueError(
            f"convert_element_type: {x.str_short()} cannot be converted to {new_dtype}: {why}"
        )
    return ShapedArray(x.shape, new_dtype, weak_type)


def _convert_tangent(result, primals, tangents, **params):
    if not ir.issubdtype(params["new_dtype"], np.inexact):
        return Zero.from_primal(result)
    return convert_element_type_p.bind(*tangents, **params)


def _convert_transpose(ct, x, *, new_dtype, weak_type, sharding):
    return [converted(ct, x.aval.dtype, x.aval.weak_type)]


def _convert_lower(ctx: Lowering, x: Value, *, new_dtype: np.dtype, **params: object) -> Value:
    out = ctx.out
    if ir.issubdtype(x.dtype, np.complexfloating) and not ir.issubdtype(
        new_dtype, np.complexfloating
    ):
        x = ctx.emit("stablehlo.real", [x], x.aval.update(dtype=real_part(x.dtype)))
    if new_dtype == np.bool_ and x.dtype != np.bool_:
        zero = ctx.constant(0, x.aval.resized(()))
        x = compare(ctx, "NE", x, ctx.broadcast_to(zero, x.shape))
    return ctx.emit("stablehlo.convert", [x], out)


def _convert_sums(x: ShapedArray, *, new_dtype: np.dtype, **params: object) -> ir.SumsRule | None:
    """Unreduced terms may be converted, but not from floats to integers, nor to booleans.

    Nor if it takes two operations, see ``SumsRule``.
    """
    cuts = ir.issubdtype(x.dtype, np.inexact) and not ir.issubdtype(new_dtype, np.inexact)
    to_real = ir.issubdtype(x.dtype, np.complexfloating) and not ir.issubdtype(
        new_dtype, np.complexfloating
    )
    twice = to_real and new_dtype != real_part(x.dtype)
    return None if cuts or twice or new_dtype == np.bool_ else ir.linear_in_all


convert_element_type_p: Primitive = ir.define(
    "convert_element_type",
    sharding=ir.by_element,
    sums=_convert_sums,
    abstract_eval=_convert_aval,
    **linear_given(_convert_tangent),
    transpose=_convert_transpose,
    batch=elementwise,
    lower=_convert_lower,
    shown=ir.hides(sharding=None),
    exact=exact.convert,
)


@overload
def converted(
    x: Array, dtype: DTypeLike, weak_type: bool = False, sharding: object = None
) -> Array: ...
@overload
def converted(
    x: ArrayLike, dtype: DTypeLike, weak_type: bool = False, sharding: object = None
) -> ArrayLike: ...
def converted(
    x: ArrayLike, dtype: DTypeLike, weak_type: bool = False, sharding: object = None
) -> ArrayLike:
    """``x`` with a canonical dtype; ``x`` itself if that is its type."""
    if type(x) is int and not weak_type and dtype != ir.float0:
        return ir.unnarrowed(
            ir.converted_scalar(x, dtype)
        )  # may be larger than the default dtype allows
    if isinstance(x, np.ndarray) and x.dtype == dtype and ir.canonicalize_dtype(dtype) != dtype:
        return ir.unnarrowed(x)
    aval = array_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak_type and sharding is None:
        return x
    if aval.dtype == ir.float0 or dtype == ir.float0:
        return np.zeros(aval.shape, dtype)
    if not (aval.shape or weak_type or hasattr(type(x), "aval") or ir.is_symbolic_dim(x)):
        value = ir.unnarrowed(ir.note_rounding(x, ir.converted_scalar(x, dtype)))
        # Without a backend a NumPy scalar represents its narrow form.
        if value.itemsize < 8 or array_aval(value).dtype == dtype:
            return value
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=sharding)


@ir.may_return_operand
def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """An array with its elements converted to another dtype, as C++ would.

    Args:
      operand: an array.
      new_dtype: the dtype; 64-bit dtypes are narrowed while those are off.

    Returns:
      An array whose dtype is not weak. Converting complex numbers to real ones keeps the real
      part, and warns.

    Raises:
      ValueError: if ``new_dtype`` is ``None``.

    Example:
      >>> from ricci import lax
      >>> int(lax.convert_element_type(2.7, int))
      2
    """
    if new_dtype is None:
        raise ValueError(
            "convert_element_type: new_dtype is None, so there is nothing to convert to; "
            "name a dtype."
        )
    dtype = ir.explicit_dtype(new_dtype, "convert_element_type")
    source = ir.python_scalar_dtype(int) if type(operand) is int else array_aval(operand).dtype
    if ir.issubdtype(source, np.complexfloating) and not ir.issubdtype(dtype, np.complexfloating):
        ir.warn_user(
            f"converting {source} to {dtype} discards the imaginary part; take its real part "
            "to say so",
            np.exceptions.ComplexWarning,
        )
        if dtype == np.bool_ and isinstance(operand, np.ndarray):
            return ir.as_array(operand.astype(bool))  # NumPy asks if a number is 0
    return ir.as_array(converted(operand, dtype))


# bitcast_convert_type


def _bitcast_aval(x: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    old = x.dtype
    old_bits, new_bits = ir.itemsize_bits(old), ir.itemsize_bits(new_dtype)
    shape = x.shape
    if old_bits > new_bits:
        shape = (*shape, old_bits // new_bits)
    elif old_bits < new_bits:
        last = shape[-1] if shape else 1
        if not shape or last * old_bits != new_bits:
            raise ValueError(
                f"bitcast_convert_type: {new_dtype} has {new_bits} bits, and the last dimension "
                f"of shape {shape} holds {last} elements of {old_bits} bits ({old}). Reshape it "
                f"to {new_bits // old_bits} elements first."
            )
        shape = shape[:-1]
    if old != new_dtype and any(
        d == np.bool_ or ir.issubdtype(d, np.complexfloating) for d in (old, new_dtype)
    ):
        raise TypeError(
            f"bitcast_convert_type: the bits of {old} cannot be read as {new_dtype}: "
            "booleans and complex numbers are reinterpreted only as themselves."
        )
    return ShapedArray(shape, new_dtype)


def _bitcast_batch(_axis, args, dims, *, new_dtype):
    (x,), (dim,) = args, dims
    aval = array_aval(x)
    if dim == aval.ndim - 1 and ir.itemsize_bits(new_dtype) > ir.itemsize_bits(aval.dtype):
        x, dim = move_dim(x, dim, 0), 0  # the last dimension is merged into one element
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), dim


def _bitcast_factors(x: ShapedArray, *, new_dtype: np.dtype) -> FactorMap:
    """The sharding factors: a wider result lacks the last dimension, a narrower one has another."""
    dims = tuple(range(x.ndim))
    old, new = ir.itemsize_bits(x.dtype), ir.itemsize_bits(new_dtype)
    if old < new:
        return FactorMap(((*dims[:-1], None),), (dims[:-1],))
    return FactorMap((dims,), ((*dims, None) if old > new else dims,))


bitcast_convert_type_p: Primitive = ir.define(
    "bitcast_convert_type",
    sharding=ir.factors(_bitcast_factors),
    abstract_eval=_bitcast_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=_bitcast_batch,
    lower=lambda ctx, x, *, new_dtype: ctx.emit(
        "stablehlo.bitcast_convert", [x], ctx.out, full=True
    ),
)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The bits of an array's elements, read as another dtype.

    Args:
      operand: an array. If the new dtype is wider, its last dimension has the parts of each
        new element.
      new_dtype: the dtype to read. If it is narrower, a new last dimension has the parts.

    Returns:
      An array of ``new_dtype`` with the same bits.

    Raises:
      TypeError: for booleans and complex numbers.
      ValueError: if the size of the last dimension does not match one new element.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> hex(int(lax.bitcast_convert_type(np.float32(1.0), np.uint32)))
      '0x3f800000'
    """
    return bitcast_convert_type_p.bind(
        operand, new_dtype=ir.explicit_dtype(new_dtype, "bitcast_convert_type")
    )


# reduce_precision


def _reduce_precision_aval(
    x: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> ShapedArray:
    check_dtype("reduce_precision", x, floating)
    if exponent_bits < 1:
        raise ValueError(
            f"reduce_precision: exponent_bits={exponent_bits}, but a float needs one bit of "
            "exponent or more."
        )
    if mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits={mantissa_bits} is negative; 0 leaves powers "
            "of two only."
        )
    return x


reduce_precision_p: Primitive = ir.define(
    "reduce_precision",
    sharding=ir.by_element,
    sums=ir.linear_in_all,
    abstract_eval=_reduce_precision_aval,
    jvp=linear,
    transpose=lambda ct, x, **params: [reduce_precision_p.bind(ct, **params)],
    batch=elementwise,
    lower=lambda ctx, x, *, exponent_bits, mantissa_bits: ctx.emit(
        "stablehlo.reduce_precision", [x], ctx.out, f", format = e{exponent_bits}m{mantissa_bits}"
    ),
)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to the values of a narrower floating-point format, with the same dtype.

    Args:
      operand: an array of floats.
      exponent_bits, mantissa_bits: the sizes of the format's parts.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if ``exponent_bits`` is not positive or ``mantissa_bits`` is negative.
      TypeError: if one is not an integer.

    Example:
      >>> from ricci import lax
      >>> float(lax.reduce_precision(1.1, 8, 3))
      1.125
    """
    return reduce_precision_p.bind(
        operand, exponent_bits=index(exponent_bits), mantissa_bits=index(mantissa_bits)
    )
