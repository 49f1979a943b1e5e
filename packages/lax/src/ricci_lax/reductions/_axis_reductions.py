"""Reductions over axes by one operation: extrema, products, logical operations."""

from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import jvp_flat, not_linear, zero_derivative
from ricci_ir import Array, ArrayLike, Primitive, Shape, ShapedArray
from ricci_lax.elementwise import (
    bitwise_and,
    convert_element_type,
    div,
    eq,
    max,
    min,
    mul,
    ne,
    select_n,
)
from ricci_lax.rules._checkify import checks_nan, makes_no_nan
from ricci_lax.shapes._slicing import pad, slice_in_dim
from ricci_lax.structure import _operand_types as operand_types
from ricci_lax.structure import full_like, reduce_sum, reshape, squeeze
from ricci_lax.structure._broadcasting import batched_axes, reduced_aval, reduction_factors
from ricci_lax.structure._few_terms import write_few_terms
from ricci_lax.structure._resharding import resolved_by
from ricci_lax.structure._transposing import lower_reduce
from ricci_stablehlo import Lowering, Value, combining_region, int_array, native_kernel, traced

from ._identities import highest, lowest

__all__ = ["reduce_and", "reduce_and_p", "reduce_max", "reduce_max_p", "reduce_min", "reduce_min_p"]
__all__ += ["reduce_or", "reduce_or_p", "reduce_prod", "reduce_prod_p", "reduce_xor"]
__all__ += ["reduce_xor_p"]


# XLA's CPU backend gives reductions of so many elements to its library YNNPACK.
_LEAST_SIZE = 4096
# The longest rows whose extrema native kernels find.
_LONGEST_ROW = 1 << 20


def _loses_nans(ctx: Lowering, x: Value) -> bool:
    """Tell whether XLA's maximum and minimum of all elements may be a number beside a NaN.

    YNNPACK, by which XLA reduces on CPUs, takes the other operand where one is NaN.
    """
    if ctx.platform != "cpu" or not ir.issubdtype(x.dtype, np.floating):
        return False
    return not ir.is_static_shape(x.shape) or x.aval.size >= _LEAST_SIZE


def _keeping_nans(
    combine: Callable[[Array, Array], Array], scalars: Sequence[ShapedArray]
) -> ir.Jaxpr:
    """A maximum or minimum of two scalars that YNNPACK does not compute."""
    choose = lambda a, b: [select_n(ne(a, a), combine(a, b), a)]
    return ir.trace_to_jaxpr(choose, scalars, origin=ir.no_origin)


def lower_variadic_reduce(
    ctx: Lowering,
    operands: Sequence[Value],
    inits: Sequence[Value],
    axes: Sequence[int],
    jaxpr: ir.Jaxpr,
) -> list[Value]:
    """Write a reduction of several operands at once.

    Args:
      jaxpr: combines scalars: an accumulator for each operand, then an element of each.
    """
    outs = list(ctx.outs)
    scalars = [init.aval for init in inits] * 2
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    alone = ctx.module.num_partitions == 1  # devices combine their results by one operation
    if alone and names in (["max"], ["min"]) and _loses_nans(ctx, operands[0]):
        jaxpr = _keeping_nans({"max": max, "min": min}[names[0]], scalars)
    region = combining_region(ctx, "reduce", scalars, jaxpr)
    attributes = f"dimensions = {int_array(axes)}"
    return ctx.generic("stablehlo.reduce", [*operands, *inits], outs, attributes, [region])


def _reduction(
    name: str,
    op: str,
    accepted: Sequence[type],
    identity: Callable[[np.dtype], ArrayLike],
    combine: Callable[[Array, Array], ArrayLike],
    *,
    message: str | None = None,
    jvp: object = zero_derivative,
    checkify: object = checks_nan,
) -> Primitive:
    """A primitive that combines the elements along some axes.

    Args:
      op: the StableHLO operation of two elements.
      identity: returns the starting value for a dtype.
      combine: the same operation as a function, for dtypes that ``op`` does not take.
      message: the error message for a dtype that is not accepted.
    """

    def abstract_eval(x: ShapedArray, *, axes: Shape, **params: object) -> ShapedArray:
        if message is not None and not any(ir.issubdtype(x.dtype, kind) for kind in accepted):
            raise TypeError(f"{message}, got {x.dtype}.")
        operand_types.check_dtype(name, x, accepted)
        return reduced_aval(x, axes)

    def batch(axis, args, dims, *, axes, **params):
        axes, dim = batched_axes(axes, dims[0])
        return primitive.bind(args[0], axes=axes, **params), dim

    def lower(
        ctx: Lowering, x: Value, *, axes: Shape, keeps_nan: bool = True, **params: object
    ) -> Value:
        few = write_few_terms(ctx, op, x, axes)
        if few is not None:
            return few
        if keeps_nan and combine in (max, min) and _loses_nans(ctx, x):
            return write_by_kernel(ctx, x, axes) or write_with_nans(ctx, x, axes)
        if not ir.issubdtype(x.dtype, np.complexfloating) or op == "stablehlo.multiply":
            return lower_reduce(ctx, op, x, identity(x.dtype), axes)
        return write_by_function(ctx, x, axes)

    def write_by_function(ctx: Lowering, x: Value, axes: Shape) -> Value:
        scalar = ShapedArray((), x.dtype)
        jaxpr = ir.trace_to_jaxpr(
            lambda a, b: [combine(a, b)], [scalar, scalar], origin=ir.no_origin
        )
        init = ctx.constant(identity(x.dtype), scalar)
        return lower_variadic_reduce(ctx, [x], [init], axes, jaxpr)[0]

    def write_by_kernel(ctx: Lowering, x: Value, axes: Shape) -> Value | None:
        """Write an extremum of contiguous rows by a native kernel, if there is one."""
        last = len(x.shape) - 1
        # The kernel computes a row by one thread, XLA a long one by several.
        if axes != (last,) or not ir.is_static_shape(x.shape) or x.shape[last] > _LONGEST_ROW:
            return None
        kernel = native_kernel(ctx, name, x.aval, last)
        return None if kernel is None else kernel.write_rows(ctx, [x], [ctx.out], last)[0]

    def write_with_nans(ctx: Lowering, x: Value, axes: Shape) -> Value:
        """Write an extremum by YNNPACK, and where a sum is NaN, by elements.

        A sum is NaN beside a NaN, and of opposite infinities. It costs as much as the extremum by
        YNNPACK, which by elements costs up to ten times as much.
        """
        if ctx.module.num_partitions > 1:
            result = lower_reduce(ctx, op, x, identity(x.dtype), axes)
            return traced(lambda x, result: _nan_beside_nan(x, result, axes))(ctx, x, result)
        if not ir.is_static_shape(x.shape):
            return write_by_function(ctx, x, axes)
        out = x.aval.resized(reduced_aval(x.aval, axes).shape)
        # A sum of all elements is quicker than those along the axes; in float16 it overflows.
        summed = axes if x.dtype.itemsize < 4 else tuple(range(len(x.shape)))
        has_nan = traced(lambda x: _any_nan(reduce_sum(x, summed)))(ctx, x)

        def by_elements(inner: Lowering) -> list[Value]:
            inner.outs = [out]
            return [write_by_function(inner, x, axes)]

        def by_library(inner: Lowering) -> list[Value]:
            inner.outs = [out]
            return [lower_reduce(inner, op, x, identity(x.dtype), axes)]

        regions = [ctx.region([], by_elements), ctx.region([], by_library)]
        return ctx.generic("stablehlo.if", [has_nan], [out], "", regions)[0]

    primitive = ir.define(
        name,
        sharding=ir.factors(reduction_factors),
        abstract_eval=abstract_eval,
        jvp=jvp,
        transpose=not_linear,
        batch=batch,
        lower=lower,
        checkify=checkify,
        shown=ir.hides(keeps_nan=False),
    )
    return primitive


def _any_nan(x: Array) -> Array:
    return reduce_or_p.bind(ne(x, x), axes=tuple(range(len(operand_types.shape_of(x)))))


def _nan_beside_nan(x: Array, extremum: Array, axes: Shape) -> Array:
    has_nan = reduce_or_p.bind(ne(x, x), axes=axes)
    return select_n(has_nan, extremum, full_like(extremum, np.nan))


def _extremum_jvp(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The jvp rule of a maximum or minimum: the mean over the elements that attain it."""

    def jvp(primals, tangents, *, axes, **params):
        (x,), (t,) = primals, tangents
        result = primitive().bind(x, axes=axes, **params)
        singleton_shape = tuple(
            1 if i in axes else n for i, n in enumerate(operand_types.shape_of(x))
        )
        aval = operand_types.array_aval(x)
        attained = convert_element_type(eq(x, reshape(result, singleton_shape)), aval.dtype)
        counts = reduce_sum(attained, axes)
        return result, div(reduce_sum(mul(t, attained), axes), counts)

    return jvp


def fold_axes(
    operands: Sequence[ArrayLike],
    inits: Sequence[ArrayLike],
    axes: Sequence[int],
    combine: Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]],
    *,
    is_commutative: bool = False,
) -> list[Array]:
    """Combine the elements along axes with an elementwise function, by halving repeatedly.

    Args:
      operands: arrays of one shape.
      inits: for each operand the identity of ``combine``, which fills up odd halves.
      combine: ``combine(lefts, rights)`` returns the combination of two halves of each operand. It
        is associative.
      is_commutative: whether ``combine`` is, too: then the halves are contiguous, which is faster.
        Else they are the elements at even and at odd positions, so that the order stays.
    """
    shape = operand_types.shape_of(operands[0])
    remaining = tuple(d for d in range(len(shape)) if d not in axes)
    sizes = tuple(shape[d] for d in remaining)
    count = int(np.prod([shape[d] for d in axes], dtype=np.int64))
    if count == 0:
        return [full_like(x, init, shape=sizes) for x, init in zip(operands, inits, strict=True)]
    xs = [reshape(x, (count, *sizes), (*axes, *remaining)) for x in operands]
    # An identity pads an odd number of elements.
    while count > 1:
        half = (count + 1) // 2
        stop, start, step = (half, half, 1) if is_commutative else (count, 1, 2)
        lefts = [slice_in_dim(x, 0, stop, step) for x in xs]
        rights = [slice_in_dim(x, start, count, step) for x in xs]
        if count % 2:
            config = ((0, 1, 0), *((0, 0, 0) for _ in sizes))
            rights = [pad(r, init, config) for r, init in zip(rights, inits, strict=True)]
        xs = list(combine(lefts, rights))
        count = half
    return [squeeze(x, (0,)) for x in xs]


def _product_tangent(x: Array, t: Array, axes: Sequence[int]) -> Array:
    """The tangent of a product of any number of elements: each one's, times all the others.

    The others are the products of those before and of those after, so that zeros do no harm.
    """
    shape = operand_types.shape_of(x)
    remaining = tuple(d for d in range(len(shape)) if d not in axes)
    rows = (prod(shape[d] for d in axes), *(shape[d] for d in remaining))
    x, t = (reshape(v, rows, (*axes, *remaining)) for v in (x, t))
    one = np.ones((), operand_types.array_aval(x).dtype)[()]
    no_padding = ((0, 0, 0),) * len(remaining)
    # The module of running products builds on this one.
    cumprod = ir.primitives["cumprod"]
    # The products of the elements before and after each one: running products, moved by one place,
    # with a 1 at the end that becomes free. Nothing is divided, so that zeros are right.
    before = pad(cumprod.bind(x, axis=0, reverse=False), one, ((1, -1, 0), *no_padding))
    after = pad(cumprod.bind(x, axis=0, reverse=True), one, ((-1, 1, 0), *no_padding))
    return reduce_sum(mul(t, mul(before, after)), (0,))


def _reduce_prod_jvp(primals, tangents, *, axes):
    aval = operand_types.array_aval(primals[0])
    one = ir.exact_scalar(1, aval.dtype)

    if not ir.is_static_shape([aval.shape[d] for d in axes]):
        result = reduce_prod_p.bind(*primals, axes=axes)
        return result, _product_tangent(primals[0], tangents[0], axes)

    # A tree of multiplications, differentiated: dividing the product by each element would fail at
    # zeros.
    def product(x: Array) -> list[Array]:
        return fold_axes([x], [one], axes, lambda a, b: [mul(a[0], b[0])], is_commutative=True)

    (result,), (tangent,) = jvp_flat(product, primals, tangents)
    return result, tangent


# With keeps_nan=False the result beside a NaN may be any element, where its uses are NaN
# anyway: on CPUs XLA finds such a maximum in one pass instead of two.
reduce_max_p: Primitive = _reduction(
    "reduce_max",
    "stablehlo.maximum",
    operand_types.anything,
    lowest,
    max,
    jvp=_extremum_jvp(lambda: reduce_max_p),
    checkify=makes_no_nan,
)
reduce_min_p: Primitive = _reduction(
    "reduce_min",
    "stablehlo.minimum",
    operand_types.anything,
    highest,
    min,
    jvp=_extremum_jvp(lambda: reduce_min_p),
    checkify=makes_no_nan,
)
reduce_prod_p: Primitive = _reduction(
    "reduce_prod",
    "stablehlo.multiply",
    operand_types.numeric,
    lambda dtype: np.ones((), dtype)[()],
    mul,
    jvp=_reduce_prod_jvp,
)


def _logical_reduction(name: str, op: str, identity: Callable[[np.dtype], ArrayLike]) -> Primitive:
    message = "only booleans and integers can be combined bit by bit"
    return _reduction(name, op, operand_types.logical, identity, bitwise_and, message=message)


reduce_and_p: Primitive = _logical_reduction(
    "reduce_and", "stablehlo.and", lambda dtype: np.asarray(-1).astype(dtype)[()]
)
reduce_or_p: Primitive = _logical_reduction(
    "reduce_or", "stablehlo.or", lambda dtype: np.zeros((), dtype)[()]
)
reduce_xor_p: Primitive = _logical_reduction(
    "reduce_xor", "stablehlo.xor", lambda dtype: np.zeros((), dtype)[()]
)


def _reduced(
    primitive: Primitive, operand: ArrayLike, axes: Sequence[int], out_sharding: object
) -> Array:
    axes = tuple(map(index, axes))
    if out_sharding is None:
        return primitive.bind(operand, axes=axes, out_sharding=None)
    apply = lambda: primitive.bind(operand, axes=axes, out_sharding=None)
    return resolved_by(out_sharding, apply)


def reduce_max(operand: ArrayLike, axes: Sequence[int], *, out_sharding: object = None) -> Array:
    """The greatest element of an array over some of its axes.

    Without elements, it is the least value of the dtype (minus infinity). Equal greatest elements
    share the derivative equally.

    Args:
      operand: an array.
      axes: which axes to reduce, non-negative and distinct.
      out_sharding: the sharding of the result.

    Returns:
      An array without these axes, of the operand's dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.reduce_max(jnp.array([[1, 5], [3, 4]]), (1,)).tolist()
      [5, 4]

    Source: StableHLO ``reduce``.
    """
    return _reduced(reduce_max_p, operand, axes, out_sharding)


def reduce_min(operand: ArrayLike, axes: Sequence[int], *, out_sharding: object = None) -> Array:
    """The least element of an array over some of its axes; see ``reduce_max``.

    Args:
      operand: an array.
      axes: which axes to reduce, non-negative and distinct.
      out_sharding: the sharding of the result.

    Returns:
      An array without these axes, of the operand's dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> int(lax.reduce_min(jnp.array([[1, 5], [3, 4]]), (0, 1)))
      1
    """
    return _reduced(reduce_min_p, operand, axes, out_sharding)


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The product of an array over some of its axes, in the array's own dtype.

    Args:
      operand: an array of a numeric dtype.
      axes: which axes to reduce, non-negative and distinct.

    Returns:
      An array without these axes, of the operand's dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.
      TypeError: if the dtype is boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.reduce_prod(jnp.array([[1, 5], [3, 4]]), (1,)).tolist()
      [5, 12]
    """
    return reduce_prod_p.bind(operand, axes=tuple(map(index, axes)))


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The conjunction of booleans, or of the bits of integers, over some axes.

    Args:
      operand: an array of booleans or integers.
      axes: which axes to reduce, non-negative and distinct.

    Returns:
      An array without these axes, of the operand's dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.
      TypeError: if the dtype is neither boolean nor an integer one.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.reduce_and(jnp.array([[True, True], [True, False]]), (1,)).tolist()
      [True, False]
    """
    return reduce_and_p.bind(operand, axes=tuple(map(index, axes)))


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The disjunction of booleans, or of the bits of integers, over some axes.

    Args:
      operand: an array of booleans or integers.
      axes: which axes to reduce, non-negative and distinct.

    Returns:
      An array without these axes, of the operand's dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.
      TypeError: if the dtype is neither boolean nor an integer one.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> int(lax.reduce_or(jnp.array([1, 4, 5]), (0,)))
      5
    """
    return reduce_or_p.bind(operand, axes=tuple(map(index, axes)))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The exclusive disjunction of booleans, or of the bits of integers, over some axes.

    Args:
      operand: an array of booleans or integers.
      axes: which axes to reduce, non-negative and distinct.

    Returns:
      An array without these axes, of the operand's dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.
      TypeError: if the dtype is neither boolean nor an integer one.

    Example:
      The parity of each row:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.reduce_xor(jnp.array([[True, True], [True, False]]), (1,)).tolist()
      [False, True]
    """
    return reduce_xor_p.bind(operand, axes=tuple(map(index, axes)))


# argmax and argmin
