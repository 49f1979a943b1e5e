"""Constants as arrays: staged scalars, uninitialised arrays, symbolic dimensions."""

import numpy as np

import ricci_ir as ir
from ricci_autodiff import linear, not_linear, zero_derivative
from ricci_batching import elementwise
from ricci_stablehlo import Lowering, Value

from . import _exact_rules as exact
from ._broadcasting import broadcast_in_dim
from ._operand_types import as_sizes, check_nonnegative, shape_of, with_out_sharding

__all__ = ["broadcast_like", "dim_as_value_p", "dtype", "empty", "stage", "stage_p"]

stage_p: ir.Primitive = ir.define(
    "stage",
    sharding=ir.by_element,
    abstract_eval=lambda x: x,
    jvp=linear,
    transpose=lambda ct, x: [ct],
    batch=elementwise,
    lower=lambda ctx, x: x,
)


def stage(x: ir.ArrayLike, /) -> ir.Array:
    """A value as an array; inside a traced function, as a variable of the jaxpr.

    Args:
      x: an array, a NumPy array or a Python scalar, whose dtype stays weak.

    Returns:
      A function of the same arguments and results.

    Raises:
      TypeError: if ``x`` is none of these.

    Example:
      >>> from ricci import lax
      >>> float(lax.stage(2.0))
      2.0
    """
    ir.get_aval(x)
    return x if isinstance(x, ir.Tracer) else ir.context.trace.lift(ir.as_array(x))


def _empty_aval(*, shape: ir.Shape, dtype: np.dtype, out_sharding) -> ir.ShapedArray:
    check_nonnegative("empty", shape)
    return ir.ShapedArray(shape, dtype)


def _empty_lower(ctx: Lowering, **params: object) -> Value:
    out = ctx.out
    return ctx.broadcast_to(ctx.constant(0, ir.ShapedArray((), out.dtype)), out.shape)


empty_p = ir.define(
    "empty",
    sharding=ir.without_sharding,
    abstract_eval=_empty_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=ir.unsupported("it has no operand to map over"),
    lower=_empty_lower,
    exact=exact.empty,
)


def empty(shape: ir.ShapeLike, dtype: ir.DTypeLike, *, out_sharding: object = None) -> ir.Array:
    """An array with unspecified elements (in fact zeros).

    Args:
      shape: its shape.
      dtype: its dtype.
      out_sharding: its sharding.

    Returns:
      An array.

    Raises:
      TypeError: if the shape is none.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> lax.empty((2, 3), np.float32).shape
      (2, 3)
    """
    canonical = np.dtype(ir.explicit_dtype(dtype, "empty"))
    # A scalar type is not converted to a dtype, because printed jaxprs show it.
    param = dtype if isinstance(dtype, type) and np.dtype(dtype) == canonical else canonical
    result = empty_p.bind(shape=as_sizes(shape), dtype=param, out_sharding=None)
    return with_out_sharding(result, out_sharding)


def broadcast_like(arr: ir.ArrayLike, like_arr: ir.ArrayLike) -> ir.Array:
    """An array repeated to the shape of another, dimensions pairing up from the last.

    Args:
      arr: an array, sizes of which are those of ``like_arr`` or 1.
      like_arr: an array of the same rank, or a higher one.

    Returns:
      An array of that shape.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> lax.broadcast_like(np.ones(3, np.float32), np.ones((2, 3), np.int32)).shape
      (2, 3)
    """
    arr_shape, shape = shape_of(arr), shape_of(like_arr)
    first = len(shape) - len(arr_shape)
    if first < 0 or any(n not in (1, m) for n, m in zip(arr_shape, shape[first:], strict=True)):
        raise ValueError(
            f"broadcast_like: an array of shape {arr_shape} cannot be repeated to shape {shape}. "
            "From the last dimension on, its sizes must be the same, or 1."
        )
    return broadcast_in_dim(arr, shape, tuple(range(first, len(shape))))


def dtype(x: ir.ArrayLike) -> np.dtype:
    """The dtype of a value as an array, or the dtype of a scalar type or a name.

    Args:
      x: an array, anything with a dtype, a Python scalar, a dtype, or its name.

    Returns:
      The dtype.

    Raises:
      ValueError: if ``x`` is ``None``.
      TypeError: if it has no dtype.

    Example:
      >>> from ricci import lax
      >>> lax.dtype(2.0)
      dtype('float32')
    """
    if x is None:
        raise ValueError("dtype: None has no dtype. Give an array, a scalar, or the dtype's name.")
    return ir.dtype(x)


def _dim_as_value_lower(ctx: Lowering, *, dim: ir.SymbolicDimension) -> Value:
    return ctx.constant(dim, ctx.out)  # pyright: ignore[reportArgumentType]


def _dim_as_value_outside(*, dim: ir.SymbolicDimension) -> np.ndarray:
    raise NotImplementedError(
        f"The symbolic dimension {dim} has a value only in a program that is exported: it cannot "
        "be computed with outside of a traced function."
    )


dim_as_value_p: ir.Primitive = ir.define(
    "dim_as_value",
    sharding=ir.without_sharding,
    abstract_eval=lambda *, dim: ir.ShapedArray((), ir.python_scalar_dtype(int), True),
    jvp=zero_derivative,
    transpose=not_linear,
    batch=ir.unsupported("it has no operand to map over"),
    lower=_dim_as_value_lower,
    reference=_dim_as_value_outside,
    exact=_dim_as_value_outside,
)


@ir.dimension_as_array.provide
def _as_array(dimension: ir.SymbolicDimension) -> ir.Array:
    return dim_as_value_p.bind(dim=dimension)
