"""Sorting along a dimension, and the greatest elements."""

from collections.abc import Sequence
from typing import overload

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, not_linear
from ricci_batching import batched_at
from ricci_lax.elementwise import _comparison as comparison
from ricci_lax.elementwise._conversion import bitcast_convert_type, convert_element_type
from ricci_lax.elementwise._small_integers import lower_in_bytes
from ricci_lax.shapes import GatherDimensionNumbers, GatherScatterMode, gather, rev, slice_in_dim
from ricci_lax.structure import broadcasted_iota, expand_dims, full_like, reshape
from ricci_lax.structure._operand_types import canonical_axis, shape_of
from ricci_lax.structure._transposing import lower_transpose
from ricci_stablehlo import Lowering, NativeKernel, Value, native_kernel, tensor_type, traced

__all__ = ["sort", "sort_key_val", "sort_p", "top_k", "top_k_p"]

# Packed sorting: XLA's CPU runtime calls a compiled function for each comparison, except for plain
# integers. A key of 32 bits or less is therefore mapped to an unsigned integer in the same order,
# in the upper half of 64 bits; the lower half holds the position, so that no two are equal, and any
# sort is stable.


# For shorter arrays the gain does not make up for the larger module.
_LEAST_LENGTH = 512
_KEY_BITS = 32
_SIGN = np.uint32(1 << 31)


def can_pack(platform: str, operands: Sequence[Value], dimension: int, num_keys: int) -> bool:
    """Whether ``sort_packed`` supports a sort, and is faster."""
    key = operands[0]
    if platform != "cpu" or num_keys != 1 or key.dtype.itemsize > 4:
        return False
    if ir.issubdtype(key.dtype, np.complexfloating):
        return False
    # Integers alone need no packing.
    is_plain = len(operands) == 1 and not ir.issubdtype(key.dtype, np.floating)
    length = key.shape[dimension]
    if not (ir.surely_at_least(length, _LEAST_LENGTH) and ir.surely_at_most(length, (1 << 32) - 1)):
        return False
    return not is_plain


def sort_packed(ctx: Lowering, *operands: Value, dimension: int) -> list[Value]:
    """Write a stable sort by the first operand."""
    with ir.enable_x64(True):
        keys = traced(_packed)(ctx, operands[0], dimension=dimension)
        positions = traced(_positions)(ctx, _sorted(ctx, keys, dimension))
        return [traced(take_along)(ctx, x, positions, dimension=dimension) for x in operands]


def _sorted(ctx: Lowering, keys: Value, dimension: int) -> Value:
    scalar = ir.ShapedArray((), keys.dtype)

    def build(inner: Lowering, x: Value, y: Value) -> list[Value]:
        return [comparison.compare(inner, "LT", x, y, "UNSIGNED")]

    region = ctx.region([scalar, scalar], build)
    attributes = f"dimension = {dimension} : i64, is_stable = true"
    return ctx.generic("stablehlo.sort", [keys], [keys.aval], attributes, [region])[0]


def _packed(key: ir.Array, *, dimension: int) -> ir.Array:
    """The ordered key of each element in the upper bits, its position in the lower ones."""
    high = convert_element_type(_ordered(key), np.uint64)
    position = broadcasted_iota(np.dtype(np.uint64), shape_of(key), dimension)
    return comparison.bitwise_or(comparison.shift_left(high, np.uint64(_KEY_BITS)), position)


def _ordered(key: ir.Array) -> ir.Array:
    """Unsigned integers in the order of the keys; all zeros are equal, all NaNs equal and last."""
    dtype = key.aval.dtype
    if ir.issubdtype(dtype, np.floating):
        # Exact, because all dtypes of this size or less are subsets of float32.
        key = convert_element_type(key, np.float32)
        key = comparison.select_n(comparison.eq(key, np.float32(0)), key, full_like(key, 0))
        key = comparison.select_n(comparison.ne(key, key), key, full_like(key, np.nan))
        bits = bitcast_convert_type(key, np.int32)
        # Negative numbers get all bits flipped, because greater ones have smaller magnitudes.
        flipped = bitcast_convert_type(
            comparison.shift_right_arithmetic(bits, np.int32(31)), np.uint32
        )
        return comparison.bitwise_xor(
            bitcast_convert_type(bits, np.uint32), comparison.bitwise_or(flipped, _SIGN)
        )
    if not ir.issubdtype(dtype, np.signedinteger):
        return convert_element_type(key, np.uint32)
    # Flipping the sign bit moves the negative numbers below the others.
    return comparison.bitwise_xor(
        bitcast_convert_type(convert_element_type(key, np.int32), np.uint32), _SIGN
    )


def _positions(keys: ir.Array) -> ir.Array:
    """The positions in packed keys, as indices for ``take_along``."""
    # The conversion drops the upper half, which is the key.
    positions = convert_element_type(keys, np.uint32)
    return expand_dims(positions, (len(shape_of(positions)),))


def take_along(x: ir.ArrayLike, indices: ir.ArrayLike, dimension: int) -> ir.Array:
    """The elements of ``x`` at indices along a dimension; indices end in a dimension of 1."""
    shape = shape_of(x)
    others = tuple(d for d in range(len(shape)) if d != dimension)
    numbers = GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(dimension,),
        start_index_map=(dimension,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    return gather(x, indices, numbers, (1,) * len(shape), mode=GatherScatterMode.PROMISE_IN_BOUNDS)


# sort


def _sort_aval(
    *avals: ir.ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ir.ShapedArray]:
    if any(aval.shape != avals[0].shape for aval in avals):
        shapes = " ".join(str(aval.shape) for aval in avals)
        raise TypeError(
            f"sort: the operands are sorted together, but their shapes differ: {shapes}."
        )
    if any(ir.is_extended(aval.dtype) for aval in avals[:num_keys]):
        keys = " ".join(aval.str_short() for aval in avals[:num_keys])
        raise TypeError(f"sort: random keys have no order, so they cannot be sorted by: {keys}.")
    return list(avals)


def _sort_jvp(primals, tangents, *, dimension, is_stable, num_keys):
    shape = shape_of(primals[0])
    params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
    positions = broadcasted_iota(np.dtype(np.uint32), shape, dimension)
    # Tangents move as their primals do: positions, sorted along as a further operand, give the
    # permutation.
    *results, order = sort_p.bind(*primals, positions, **params)
    indices = expand_dims(order, (len(shape),))
    return results, [t if type(t) is Zero else take_along(t, indices, dimension) for t in tangents]


def _sort_batch(axis, args, dims, *, dimension, is_stable, num_keys):
    target = next(d for x, d in zip(args, dims, strict=True) if d is not None)
    moved = [batched_at(x, d, axis, target) for x, d in zip(args, dims, strict=True)]
    dimension += target <= dimension
    results = sort_p.bind(*moved, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    return results, [target] * len(results)


def _compare(ctx: Lowering, kind: str, x: Value, y: Value, order: str) -> Value:
    out = x.aval.update(dtype=np.dtype(bool), weak_type=False)
    return ctx.emit(f"stablehlo.compare {kind},", [x, y], out, f", {order}", full=True)


def _sort_keys(ctx: Lowering, x: Value) -> list[Value]:
    """The keys that are compared for an element: all zeros are equal, all NaNs equal and last."""
    if ir.issubdtype(x.dtype, np.complexfloating):
        part = x.aval.update(dtype=np.empty(0, x.dtype).real.dtype)
        parts = [ctx.emit(f"stablehlo.{name}", [x], part) for name in ("real", "imag")]
        return [key for part in parts for key in _sort_keys(ctx, part)]
    if not ir.issubdtype(x.dtype, np.floating):
        return [x]
    # In the total order -0 precedes 0, and NaNs with a sign bit precede all numbers.
    zero, nan = ctx.constant(0, x.aval), ctx.constant(np.nan, x.aval)
    plain = comparison.write_select(ctx, _compare(ctx, "EQ", x, zero, "FLOAT"), zero, x)
    return [comparison.write_select(ctx, _compare(ctx, "NE", x, x, "FLOAT"), nan, plain)]


def _order(dtype: ir.DTypeLike) -> str:
    """StableHLO's comparison type for keys of a dtype."""
    if ir.issubdtype(dtype, np.floating):
        return "TOTALORDER"
    signed = ir.issubdtype(dtype, np.signedinteger)
    return "SIGNED" if signed else "UNSIGNED"


def _lexicographic(ctx: Lowering, pairs: Sequence[tuple[Value, Value]]) -> Value:
    """Whether the first elements of the pairs precede the second ones in lexicographic order."""
    (*earlier, (x, y)) = pairs
    result = _compare(ctx, "LT", x, y, _order(x.dtype))
    # From the last key to the first: x precedes y if it is less, or equal and the later keys
    # precede.
    for x, y in reversed(earlier):
        order = _order(x.dtype)
        less, equal = (_compare(ctx, kind, x, y, order) for kind in ("LT", "EQ"))
        tied = ctx.emit("stablehlo.and", [equal, result], result.aval)
        result = ctx.emit("stablehlo.or", [less, tied], result.aval)
    return result


# The dtypes of elements that the native kernel moves along with its keys.
_MOVED = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    }
)


def _native_kernel(
    ctx: Lowering, operands: Sequence[Value], dimension: int, num_keys: int
) -> NativeKernel | None:
    """Return the kernel for a sort, if it supports all operands."""
    kernels = [native_kernel(ctx, "sort", x.aval, dimension) for x in operands[:num_keys]]
    moved = operands[num_keys:]
    if None in kernels or not all(x.dtype.name in _MOVED for x in moved):
        return None
    return kernels[0]


def _sort_lower(
    ctx: Lowering, *operands: Value, dimension: int, is_stable: bool, num_keys: int
) -> list[Value]:
    outs = list(ctx.outs)
    params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
    in_bytes = lower_in_bytes(ctx, sort_p, operands, params)
    if in_bytes is not None:
        return in_bytes
    kernel = _native_kernel(ctx, operands, dimension, num_keys)
    if kernel is not None:
        return kernel.write_rows(ctx, operands, outs, dimension, num_keys=num_keys)
    if can_pack(ctx.platform, operands, dimension, num_keys):
        return sort_packed(ctx, *operands, dimension=dimension)

    def build(inner: Lowering, *scalars: Value) -> list[Value]:
        keys = [[_sort_keys(inner, x) for x in scalars[2 * i : 2 * i + 2]] for i in range(num_keys)]
        pairs = [pair for lhs, rhs in keys for pair in zip(lhs, rhs, strict=True)]
        return [_lexicographic(inner, pairs)]

    scalars = [ir.ShapedArray((), x.dtype) for x in operands for _ in range(2)]
    region = ctx.region(scalars, build)
    attributes = f"dimension = {dimension} : i64, is_stable = {str(is_stable).lower()}"
    return ctx.generic("stablehlo.sort", operands, outs, attributes, [region])


sort_p: ir.Primitive = ir.define(
    "sort",
    sharding=ir.except_dimension("dimension"),
    abstract_eval=_sort_aval,
    multiple_results=True,
    jvp=_sort_jvp,
    transpose=not_linear,
    batch=_sort_batch,
    lower=_sort_lower,
)


@overload
def sort(
    operand: Sequence[ir.ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[ir.Array, ...]: ...


@overload
def sort(
    operand: ir.ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> ir.Array: ...


def sort(
    operand: ir.ArrayLike | Sequence[ir.ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> ir.Array | tuple[ir.Array, ...]:
    """Sort along a dimension, in ascending order; NaNs come last.

    Args:
      operand: an array, or a sequence of arrays of one shape that are reordered together.
      dimension: the dimension to sort along.
      is_stable: whether equal elements keep their order.
      num_keys: how many of the arrays, from the first, decide the order, one after another.

    Returns:
      The sorted array, or a tuple of them.

    Raises:
      TypeError: if there are no arrays, or their shapes differ.
      ValueError: if the dimension is out of bounds, or ``num_keys`` is not between 1 and the
        number of arrays.

    Example:
      Sorted by the first array, then by the second; the third is carried along.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> years = jnp.array([2001, 1999, 2001])
      >>> months = jnp.array([7, 3, 2])
      >>> number = jnp.arange(3)
      >>> lax.sort((years, months, number), num_keys=2)[2].tolist()
      [1, 2, 0]

    Source: StableHLO ``sort``.
    """
    if isinstance(operand, Sequence):
        if not operand:
            raise TypeError("sort: there is nothing to sort; give one array or more.")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(
                f"sort: num_keys={num_keys}, but there are {len(operand)} operands. Sort by 1 "
                "of them at least, and by all at most."
            )
        dimension = canonical_axis(dimension, len(shape_of(operand[0])))
        params = {"dimension": dimension, "is_stable": bool(is_stable), "num_keys": num_keys}
        return tuple(sort_p.bind(*operand, **params))
    if num_keys != 1:
        raise ValueError(f"sort: num_keys={num_keys}, but there is one operand to sort by.")
    dimension = canonical_axis(dimension, len(shape_of(operand)))
    return sort_p.bind(operand, dimension=dimension, is_stable=bool(is_stable), num_keys=1)[0]


def sort_key_val(
    keys: ir.ArrayLike, values: ir.ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[ir.Array, ir.Array]:
    """Sort ``keys`` along a dimension, and reorder ``values`` in the same way.

    Args:
      keys: the array to sort.
      values: an array of the same shape.
      dimension: the dimension to sort along.
      is_stable: whether equal keys keep their order.

    Returns:
      The sorted keys, and the values in the same order.

    Raises:
      TypeError: if the shapes differ.
      ValueError: if the dimension is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> keys, values = lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30, 10, 20]))
      >>> keys.tolist(), values.tolist()
      ([1, 2, 3], [10, 20, 30])
    """
    keys, values = sort((keys, values), dimension, is_stable, num_keys=1)
    return keys, values


# top_k


def _top_k_aval(x: ir.ShapedArray, *, k: int, axis: int, is_stable: bool) -> list[ir.ShapedArray]:
    if ir.issubdtype(x.dtype, np.complexfloating):
        raise ValueError("top_k: complex numbers have no order, so none are largest.")
    if k < 0:
        raise ValueError(f"top_k: k={k} is negative.")
    if x.shape[axis] < k:
        raise ValueError(
            f"top_k: there are no {k} elements along axis {axis} of shape {x.shape}. Ask "
            "for a smaller k."
        )
    if type(x.shape[axis]) is int and x.shape[axis] > np.iinfo(np.int32).max:
        raise ValueError(
            f"top_k: positions are int32, which does not count to {x.shape[axis]}, the size of "
            f"axis {axis}. Take the largest of parts of it first."
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [x.resized(shape), ir.ShapedArray(shape, np.dtype(np.int32), x.weak_type)]


def _top_k_jvp(primals, tangents, *, k, axis, is_stable):
    values, indices = top_k_p.bind(*primals, k=k, axis=axis, is_stable=is_stable)
    (t,) = tangents
    if type(t) is Zero:
        tangent = Zero.from_primal(values)
    else:
        tangent = take_along(t, reshape(indices, (*shape_of(indices), 1)), axis)
    return [values, indices], [tangent, Zero.from_primal(indices)]


def _top_k_batch(_axis, args, dims, *, k, axis, is_stable):
    dim = dims[0]
    return top_k_p.bind(args[0], k=k, axis=axis + (axis >= dim), is_stable=is_stable), [dim, dim]


def _first_of_sorted(x: ir.Array, *, k: int, axis: int, is_stable: bool) -> list[ir.Array]:
    # Of the reversed array a stable sort has the first of equal elements last.
    positions = broadcasted_iota(np.int32, x.shape, axis)
    ascending = sort((rev(x, (axis,)), rev(positions, (axis,))), dimension=axis, num_keys=1)
    return [slice_in_dim(rev(r, (axis,)), 0, k, axis=axis) for r in ascending]


_sort_for_top_k = traced(_first_of_sorted)


def _top_k_lower(ctx: Lowering, x: Value, *, k: int, axis: int, is_stable: bool) -> list[Value]:
    params = {"k": k, "axis": axis, "is_stable": is_stable}
    in_bytes = lower_in_bytes(ctx, top_k_p, [x], params)
    if in_bytes is not None:
        return in_bytes
    if ir.is_symbolic_dim(k):  # the operation's k is an attribute
        return _sort_for_top_k(ctx, x, **params)
    outs, last = list(ctx.outs), len(x.shape) - 1
    # The operation searches along the last dimension.
    order = list(range(last + 1))
    order[axis], order[last] = last, axis
    if axis != last:
        x = lower_transpose(ctx, x, order)
        outs = [out.resized(tuple(out.shape[d] for d in order)) for out in outs]
    kernel = native_kernel(ctx, "top_k", x.aval, last)
    # It selects, which takes longer than a sort for most of a row.
    if kernel is not None and 0 < 2 * k <= x.shape[last]:
        results = kernel.write_rows(ctx, [x], outs, last, k=k)
    else:
        stable = "" if is_stable else ", is_stable = false"
        types = f"{tensor_type(x.aval)} -> ({', '.join(map(tensor_type, outs))})"
        results = ctx.append("chlo.top_k", f"({x}, k = {k}{stable})", outs, types)
    return results if axis == last else [lower_transpose(ctx, r, order) for r in results]


top_k_p: ir.Primitive = ir.define(
    "top_k",
    sharding=ir.except_dimension("axis"),
    abstract_eval=_top_k_aval,
    multiple_results=True,
    jvp=_top_k_jvp,
    transpose=not_linear,
    batch=_top_k_batch,
    lower=_top_k_lower,
)


def top_k(
    operand: ir.ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True
) -> list[ir.Array]:
    """The ``k`` greatest elements along an axis, in descending order, and their indices.

    Args:
      operand: an array of a real dtype.
      k: how many.
      axis: the axis to search along.
      is_stable: whether the first of equal elements comes first.

    Returns:
      The elements, and their int32 indices.

    Raises:
      ValueError: if ``k`` is negative or more than there are, the axis is out of bounds or longer
        than an int32 counts, or the dtype is complex.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> scores = jnp.array([0.25, 2.0, 1.0, 0.5])
      >>> values, indices = lax.top_k(scores, 2)
      >>> values.tolist(), indices.tolist()
      ([2.0, 1.0], [1, 2])
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    values, indices = top_k_p.bind(operand, k=ir.as_size(k), axis=axis, is_stable=bool(is_stable))
    return [values, indices]
