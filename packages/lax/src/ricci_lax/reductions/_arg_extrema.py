"""``argmax`` and ``argmin``: the position of the greatest or least element along an axis."""

from collections.abc import Callable
from operator import index

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive, Shape, ShapedArray
from ricci_lax.elementwise._comparison import bitwise_and, bitwise_or, eq, gt, lt, ne, select_n
from ricci_lax.elementwise._factories import BinaryFunction
from ricci_lax.elementwise._small_integers import lower_in_bytes
from ricci_lax.structure import broadcast_in_dim, broadcasted_iota, full_like, optimization_barrier
from ricci_lax.structure._broadcasting import batched_axes, reduced_aval, reduction_factors
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value, native_kernel, traced

from ._axis_reductions import lower_variadic_reduce, reduce_max_p, reduce_min_p
from ._identities import highest, lowest

__all__ = ["argmax", "argmax_p", "argmin", "argmin_p"]


# Below this many elements two reductions are no faster than one of pairs.
_LEAST_SIZE = 4096
# Nor along rows of fewer elements than this.
_LEAST_ROW = 32
# The dtypes of the native kernels' results.
_NATIVE_INDICES = (np.dtype(np.int32), np.dtype(np.int64))


def _arg_extremum(
    name: str,
    better: BinaryFunction,
    identity: Callable[[np.dtype], ArrayLike],
    extremum: Primitive,
) -> Primitive:
    """A primitive that computes the first index of an extremal element.

    A NaN is better than any number.
    """

    def first_of_extremum(x: Array, *, axes: Shape, index_dtype: np.dtype) -> Array:
        """Reduce twice: to the extremum, which is NaN beside a NaN, then to its least index."""
        shape, (axis,) = shape_of(x), axes
        best = optimization_barrier(extremum.bind(x, axes=axes, out_sharding=None))
        others = [d for d in range(len(shape)) if d != axis]
        is_best = bitwise_or(eq(x, broadcast_in_dim(best, shape, others)), ne(x, x))
        indices = broadcasted_iota(index_dtype, shape, axis)
        last = full_like(indices, shape[axis] - 1)
        return reduce_min_p.bind(select_n(is_best, last, indices), axes=axes, out_sharding=None)

    def abstract_eval(x: ShapedArray, *, axes: Shape, index_dtype: np.dtype) -> ShapedArray:
        (axis,) = axes
        if ir.issubdtype(x.dtype, np.complexfloating):
            raise TypeError(
                f"{name}: complex numbers have no order, so that none of {x.str_short()} is "
                "chosen. Compare their absolute values, or their real parts."
            )
        if not 0 <= axis < x.ndim:
            raise ValueError(f"argmin, argmax: axis {axis} is out of bounds for shape {x.shape}.")
        if x.shape[axis] < 1:
            raise ValueError(
                f"argmin, argmax: axis {axis} of shape {x.shape} is empty, so that no element "
                "can be chosen."
            )
        if not ir.issubdtype(index_dtype, np.integer):
            raise TypeError(
                f"argmin, argmax: index_dtype={index_dtype} cannot count positions; give an "
                "integer dtype."
            )
        return ShapedArray(reduced_aval(x, axes).shape, index_dtype)

    def batch(axis, args, dims, *, axes, index_dtype):
        axes, dim = batched_axes(axes, dims[0])
        return primitive.bind(args[0], axes=axes, index_dtype=index_dtype), dim

    def choose(x: Array, i: Array, y: Array, j: Array) -> list[Array]:
        # The order of a reduction is not specified: the smaller index decides between equal
        # elements, and a NaN, unequal to itself, wins over every number.
        first = bitwise_or(better(x, y), ne(x, x))
        first_index = bitwise_or(first, bitwise_and(eq(x, y), lt(i, j)))
        return [select_n(first, y, x), select_n(first_index, j, i)]

    def lower(ctx: Lowering, x: Value, *, axes: Shape, index_dtype: np.dtype) -> Value:
        in_bytes = lower_in_bytes(ctx, primitive, [x], {"axes": axes, "index_dtype": index_dtype})
        if in_bytes is not None:
            return in_bytes[0]
        out, (axis,) = ctx.out, axes
        # The kernel's rows are contiguous: along another axis it would need a transpose.
        if axis == len(x.shape) - 1 and index_dtype in _NATIVE_INDICES:
            kernel = native_kernel(ctx, name, x.aval, axis)
            if kernel is not None:
                return kernel.write_rows(ctx, [x], [out], axis)[0]
        if _is_slow_on_cpu(ctx, x, axis) and x.shape[axis] <= np.iinfo(index_dtype).max:
            return traced(first_of_extremum)(ctx, x, axes=axes, index_dtype=index_dtype)
        scalars = [ShapedArray((), x.dtype), ShapedArray((), index_dtype)]
        jaxpr = ir.trace_to_jaxpr(choose, [*scalars, *scalars], origin=ir.no_origin)
        iota = ir.trace_to_jaxpr(
            lambda: [broadcasted_iota(index_dtype, x.shape, axis)], [], origin=ir.no_origin
        )
        (indices,) = ctx.inline(iota, [])
        inits = [ctx.constant(identity(x.dtype), scalars[0]), ctx.constant(0, scalars[1])]
        ctx.outs = [out.update(dtype=x.dtype), out]
        return lower_variadic_reduce(ctx, [x, indices], inits, axes, jaxpr)[1]

    primitive = ir.define(
        name,
        sharding=ir.factors(reduction_factors),
        abstract_eval=abstract_eval,
        jvp=zero_derivative,
        transpose=not_linear,
        batch=batch,
        lower=lower,
    )
    return primitive


def _is_slow_on_cpu(ctx: Lowering, x: Value, axis: int) -> bool:
    """Tell whether XLA's CPU backend reduces pairs one by one, and slower than it reduces twice.

    Along rows two reductions are 5 to 25 times as fast for floats, 3 times for bytes, and slower
    for wider integers, whose extremum XLA does not vectorise.
    """
    if ctx.platform != "cpu" or not ir.is_static_shape(x.shape) or x.aval.size < _LEAST_SIZE:
        return False
    is_float = ir.issubdtype(x.dtype, np.floating)
    if axis < len(x.shape) - 1 or (is_float and x.dtype.itemsize < 4):
        return True
    return x.shape[axis] >= _LEAST_ROW and (is_float or x.dtype.itemsize == 1)


argmax_p: Primitive = _arg_extremum("argmax", gt, lowest, reduce_max_p)
argmin_p: Primitive = _arg_extremum("argmin", lt, highest, reduce_min_p)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the greatest element along an axis; the first of equals, or of NaNs.

    Args:
      operand: an array of a real or boolean dtype.
      axis: a non-negative axis that is not empty.
      index_dtype: the integer dtype of the result.

    Returns:
      An array of ``index_dtype`` without the axis.

    Raises:
      ValueError: if the axis is out of bounds or empty.
      TypeError: if ``index_dtype`` is not an integer dtype, or the operand is complex.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.argmax(jnp.array([[1.0, 5.0, 5.0], [3.0, 2.0, 1.0]]), 1, jnp.int32).tolist()
      [1, 0]
    """
    return _bind_arg(argmax_p, operand, axis, index_dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the least element along an axis; the first of equals, or of NaNs.

    Args:
      operand: an array of a real or boolean dtype.
      axis: a non-negative axis that is not empty.
      index_dtype: the integer dtype of the result.

    Returns:
      An array of ``index_dtype`` without the axis.

    Raises:
      ValueError: if the axis is out of bounds or empty.
      TypeError: if ``index_dtype`` is not an integer dtype, or the operand is complex.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.argmin(jnp.array([[1.0, 5.0, 5.0], [3.0, 2.0, 1.0]]), 1, jnp.int32).tolist()
      [0, 2]
    """
    return _bind_arg(argmin_p, operand, axis, index_dtype)


def _bind_arg(primitive: Primitive, operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    dtype = ir.explicit_dtype(index_dtype, primitive.name)
    return primitive.bind(operand, axes=(index(axis),), index_dtype=dtype)
