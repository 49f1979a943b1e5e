"""Arrays without operands: ``iota``, which counts along an axis, and constant arrays."""

from operator import index

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_stablehlo import write_iota

from . import _exact_rules as exact
from . import _operand_types as operand_types
from ._broadcasting import broadcast_in_dim, broadcast_in_dim_p, weak_scalar

__all__ = ["broadcasted_iota", "full", "full_like", "iota", "iota_p"]


def _iota_aval(*, dtype: np.dtype, shape: ir.Shape, dimension: int, sharding) -> ir.ShapedArray:
    operand_types.check_nonnegative("iota", shape)
    aval = ir.ShapedArray(shape, dtype)
    operand_types.check_dtype("iota", aval, operand_types.numeric)
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"iota: dimension {dimension} names none of the {len(shape)} dimensions of "
            f"shape {shape}."
        )
    return aval


def _iota_factors(*, shape: ir.Shape, **params: object) -> ir.FactorMap:
    return ir.FactorMap((), ((None,) * len(shape),))


iota_p: ir.Primitive = ir.define(
    "iota",
    sharding=ir.makes_sharding(ir.factors(_iota_factors)),
    abstract_eval=_iota_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=ir.unsupported("it has no operand to map over"),
    lower=lambda ctx, *, dimension, **params: write_iota(ctx, dimension, ctx.out),
    exact=exact.iota,
)


def iota(dtype: ir.DTypeLike, size: int) -> ir.Array:
    """The numbers from 0 up to ``size``, which is excluded.

    Args:
      dtype: a numeric dtype.
      size: how many.

    Returns:
      An array of shape ``(size,)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.iota(jnp.float32, 4).tolist()
      [0.0, 1.0, 2.0, 3.0]

    Source: StableHLO ``iota``.
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: ir.DTypeLike, shape: ir.ShapeLike, dimension: int, *, out_sharding: object = None
) -> ir.Array:
    """An array whose elements are their own index along one dimension.

    Args:
      dtype: a numeric dtype.
      shape: the result's shape.
      dimension: along which dimension the elements count.
      out_sharding: the sharding of the result.

    Returns:
      An array of that shape and dtype.

    Raises:
      TypeError: if the dtype is not a numeric one, or a size is negative.
      ValueError: if the dimension is out of bounds.

    Example:
      A mask of the lower triangle:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> rows = lax.broadcasted_iota(jnp.int32, (3, 3), 0)
      >>> columns = lax.broadcasted_iota(jnp.int32, (3, 3), 1)
      >>> (rows >= columns).astype(int).tolist()
      [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    shape = operand_types.as_sizes(shape)
    dtype, dimension = ir.explicit_dtype(dtype, "iota"), index(dimension)
    if out_sharding is None:
        return iota_p.bind(dtype=dtype, shape=shape, dimension=dimension, sharding=None)
    params = {"dtype": dtype, "shape": shape, "dimension": dimension}
    return operand_types.bind_placed(iota_p, (), len(shape), out_sharding, params)


_python_scalars = (bool, int, float, complex)


@ir.may_return_operand
def full(
    shape: ir.ShapeLike,
    fill_value: ir.ArrayLike,
    dtype: ir.DTypeLike | None = None,
    *,
    sharding: object = None,
) -> ir.Array:
    """An array whose elements are all equal.

    Args:
      shape: its shape.
      fill_value: a scalar, or an array of no dimensions.
      dtype: the dtype, by default that of ``fill_value`` (weak where that is).
      sharding: the sharding of the result.

    Returns:
      An array of that shape and dtype.

    Raises:
      TypeError: if ``fill_value`` has dimensions, or a size is negative.

    Example:
      >>> from ricci import lax
      >>> lax.full((2, 3), 1.5).tolist()
      [[1.5, 1.5, 1.5], [1.5, 1.5, 1.5]]
    """
    shape = operand_types.as_sizes(shape)
    kind = type(fill_value)
    if kind in _python_scalars:  # an int may be out of range of the default dtype
        value_dtype, weak = ir.python_scalar_dtype(kind), kind is not bool
    else:
        aval = operand_types.array_aval(fill_value)
        if aval.shape:
            raise TypeError(
                f"full: fill_value has shape {aval.shape}, and only a scalar can fill an array. "
                "For an array of values use broadcast_in_dim."
            )
        value_dtype, weak = aval.dtype, aval.weak_type
    stays_weak = dtype is None and weak
    dtype = value_dtype if dtype is None else ir.explicit_dtype(dtype, "full")
    if dtype == ir.float0:
        return ir.float0_zeros(shape)
    if isinstance(dtype, ir.ExtendedDType) and value_dtype != dtype:  # the value of all words
        words = dtype.physical_aval(ir.ShapedArray((), dtype))
        fill_value = dtype.from_physical(full(words.shape, fill_value, words.dtype))
    elif kind in _python_scalars or isinstance(fill_value, np.ndarray | np.generic):
        scalar = ir.note_rounding(fill_value, ir.converted_scalar(fill_value, dtype))
        fill_value = scalar.item() if stays_weak else ir.unnarrowed(scalar)
    elif value_dtype != dtype or weak != stays_weak:
        # The conversion is defined with the arithmetic, which builds on this module.
        fill_value = ir.primitives["convert_element_type"].bind(
            fill_value, new_dtype=dtype, weak_type=stays_weak, sharding=None
        )
    if sharding is None:
        return broadcast_in_dim(fill_value, shape, ())
    params = {"shape": operand_types.as_sizes(shape), "broadcast_dimensions": ()}
    result = operand_types.bind_sharded(
        broadcast_in_dim_p, (fill_value,), len(params["shape"]), sharding, params
    )
    # An eager scalar does not have a mesh, so that its copies are still to be placed.
    return (
        operand_types.create_at_place.call(result, sharding)
        if ir.context.trace is ir.eval_trace
        else result
    )


@ir.may_return_operand
def full_like(
    x: ir.ArrayLike,
    fill_value: ir.ArrayLike,
    dtype: ir.DTypeLike | None = None,
    shape: ir.ShapeLike | None = None,
    sharding: object = None,
) -> ir.Array:
    """An array whose elements are all equal, of the shape and dtype of another.

    Args:
      x: an array, or anything with a shape and a dtype.
      fill_value: a scalar, or an array of no dimensions.
      dtype, shape: used instead of those of ``x``.
      sharding: the sharding of the result; by default that of ``x``, if it was put there and has
        the shape.

    Returns:
      An array of that shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.full_like(jnp.ones(3, jnp.int8), 2.9)
      Array([2, 2, 2], dtype=int8)
    """
    aval = ir.shaped_like(x) if _is_described(x) else operand_types.array_aval(x)
    shape = aval.shape if shape is None else operand_types.as_sizes(shape)
    if sharding is None:
        sharding = operand_types.place_of(x, shape)
    if dtype is None and aval.weak_type:
        # The result stays weak: a Python scalar has a weak dtype, so convert the value to one.
        if np.isscalar(fill_value) and aval.dtype != ir.BOOL:
            fill_value = weak_scalar(ir.converted_scalar(fill_value, aval.dtype))
        elif not operand_types.array_aval(fill_value).shape:  # `full` raises for others
            fill_value = ir.primitives["convert_element_type"].bind(
                fill_value, new_dtype=aval.dtype, weak_type=True, sharding=None
            )
        result = full(shape, fill_value, sharding=sharding)
    else:
        result_dtype = aval.dtype if dtype is None else dtype
        result = full(shape, fill_value, result_dtype, sharding=sharding)
    return ir.cast_varying(result, ir.varying(aval))


def _is_described(x: ir.ArrayLike) -> bool:
    """Whether ``x`` only describes an array, as a ``ShapeDtypeStruct`` does."""
    return hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(type(x), "aval")
