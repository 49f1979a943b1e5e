"""Slices at fixed and at computed positions, and padding."""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ricci_autodiff import Zero, instantiate, is_undefined_primal, linear
from ricci_batching import batch_rules, batched_at, move_dim
from ricci_ir import (
    DebugInfo,
    Jaxpr,
    ShapedArray,
    canonicalize_dtype,
    define,
    get_aval,
    is_weakly_typed,
    issubdtype,
    python_scalar_dtype,
    staged_call,
    trace_to_jaxpr,
)
from ricci_stablehlo import Lowering, Value, int_list

from ._arithmetic import add, sub
from ._comparison import lt, select_n
from ._conversion import convert_element_type
from ._gather import gather_p
from ._indexing import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from ._joining import check_dtypes_match, stack_scalars, unstack, write_slice
from ._scatter import scatter_p
from ._structural import (
    as_sizes,
    broadcast_in_dim,
    canonical_axis,
    expand_dims,
    full,
    reduce_sum,
    shape_of,
    squeeze,
    write,
    zeros_of,
)

# slice


def _slice_aval(x: ShapedArray, *, start_indices, limit_indices, strides):
    names = ("start_indices", "limit_indices", "strides")
    values = (start_indices, limit_indices, (1,) * x.ndim if strides is None else strides)
    for name, value in zip(names, values, strict=True):
        if len(value) != x.ndim:
            raise TypeError(
                f"slice {name} must have length equal to the number of dimensions of the operand, "
                f"got {name} {value} for operand shape {x.shape}."
            )
    shape = []
    for size, start, limit, stride in zip(x.shape, *values, strict=True):
        if start < 0:
            problem = f"start_indices must be nonnegative, got {start_indices}"
        elif limit > size:
            problem = (
                "limit_indices must be less than or equal to operand shape, got limit_indices "
                f"{limit_indices} for operand shape {x.shape}"
            )
        elif start > limit:
            problem = (
                "limit_indices must be greater than or equal to start_indices, got start_indices "
                f"{start_indices} and limit_indices {limit_indices}"
            )
        elif stride <= 0:
            problem = f"strides must be positive, got {strides}"
        else:
            shape.append(-((start - limit) // stride))
            continue
        raise TypeError(f"slice {problem}.")
    return x.update(shape=tuple(shape))


def _slice_transpose(ct, x, *, start_indices, limit_indices, strides):
    config = []
    for i, (size, start, limit) in enumerate(
        zip(x.aval.shape, start_indices, limit_indices, strict=True)
    ):
        stride = 1 if strides is None else strides[i]
        count = shape_of(ct)[i]
        end = limit if stride == 1 else start + (count - 1) * stride + 1 if count else start
        config.append((start, size - end, stride - 1))
    return [pad(ct, np.zeros((), x.aval.dtype)[()], config)]


def _slice_batch(axis, args, dims, *, start_indices, limit_indices, strides):
    (x,), (dim,) = args, dims

    def with_batch(values, value):
        return (*values[:dim], value, *values[dim:])

    result = slice_p.bind(
        x,
        start_indices=with_batch(start_indices, 0),
        limit_indices=with_batch(limit_indices, axis.size),
        strides=None if strides is None else with_batch(strides, 1),
    )
    return result, dim


def _slice_lower(ctx: Lowering, x: Value, *, start_indices, limit_indices, strides):
    strides = (1,) * len(start_indices) if strides is None else strides
    return write_slice(ctx, x, start_indices, limit_indices, strides, ctx.out)


slice_p = define(
    "slice",
    abstract_eval=_slice_aval,
    jvp=linear,
    transpose=_slice_transpose,
    batch=_slice_batch,
    lower=_slice_lower,
)


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """A part of an array, at a fixed position.

    Args:
      operand: an array of any dtype.
      start_indices, limit_indices: for each dimension, where the part starts and ends.
      strides: for each dimension, the step between elements.

    Raises:
      TypeError: if the part does not lie within the array.

    Example:
      >>> slice(np.ones((4, 6)), (0, 1), (2, 5), (1, 2)).shape
      (2, 2)

    Source: StableHLO ``slice``.
    """
    return slice_p.bind(
        operand,
        start_indices=tuple(map(index, start_indices)),
        limit_indices=tuple(map(index, limit_indices)),
        strides=None if strides is None else tuple(map(index, strides)),
    )


def slice_in_dim(
    operand: Any,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """A part of an array along one axis; negative positions count from the end.

    Raises:
      TypeError: if the part does not lie within the array.

    Example:
      >>> slice_in_dim(np.ones((4, 6)), 1, -1, axis=1).shape
      (4, 4)
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    size = shape[axis]

    def position(i: int | None, default: int) -> int:
        i = default if i is None else index(i)
        return i + size if i < 0 else i

    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis] = position(start_index, 0), position(limit_index, size)
    strides[axis] = index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """One position of an array along an axis.

    Args:
      index: the position; a negative one counts from the end.
      axis: the axis.
      keepdims: whether the result keeps the axis, with size 1.

    Raises:
      IndexError: if the position is out of bounds.

    Example:
      >>> index_in_dim(np.ones((4, 6)), -1, 1).shape
      (4, 1)
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    size = shape_of(operand)[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    index = index + size if index < 0 else index
    part = slice_in_dim(operand, index, index + 1, 1, axis)
    return part if keepdims else squeeze(part, (axis,))


# dynamic_slice


def _check_indices(name: str, x: ShapedArray, indices: Sequence[ShapedArray]) -> None:
    if any(not issubdtype(i.dtype, np.integer) or i.dtype != indices[0].dtype for i in indices):
        raise TypeError(
            f"index arguments to {name} must be integers of the same type, got: "
            f"{', '.join(str(i.dtype) for i in indices)}"
        )
    if any(i.shape for i in indices):
        raise TypeError(
            f"start_indices arguments to {name} must be scalars, got shapes "
            f"{', '.join(str(i.shape) for i in indices)}"
        )
    if len(indices) != x.ndim:
        raise ValueError(
            f"{name}: {len(indices)} indices were given for an operand of shape {x.shape}."
        )


def _dynamic_slice_aval(x: ShapedArray, *indices: ShapedArray, slice_sizes):
    _check_indices("dynamic_slice", x, indices)
    if len(slice_sizes) != x.ndim:
        raise ValueError(
            f"slice slice_sizes must have one size for each dimension, got {slice_sizes} for "
            f"operand shape {x.shape}."
        )
    if any(n < 0 for n in slice_sizes):
        raise TypeError(
            f"slice slice_sizes must be greater than or equal to zero, got {slice_sizes}."
        )
    if any(n > size for n, size in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(
            "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
            f"{slice_sizes} for operand shape {x.shape}."
        )
    return x.update(shape=slice_sizes)


def _dynamic_slice_jvp(primals, tangents, *, slice_sizes):
    x, *indices = primals
    tangent: Any = tangents[0]
    if type(tangent) is not Zero:
        tangent = dynamic_slice_p.bind(tangent, *indices, slice_sizes=slice_sizes)
    result = dynamic_slice_p.bind(x, *indices, slice_sizes=slice_sizes)
    return result, Zero.from_primal(result) if type(tangent) is Zero else tangent


def _dynamic_slice_transpose(ct, x, *indices, slice_sizes):
    into = dynamic_update_slice_p.bind(zeros_of(x.aval), ct, *indices)
    return [into, *[None] * len(indices)]


def _dynamic_slice_batch(axis, args, dims, *, slice_sizes):
    x, *indices = args
    if not indices:
        return x, dims[0]
    position, position_dim = stack_scalars(indices, dims[1:], axis.size)
    every = tuple(range(len(indices)))
    return batch_rules[gather_p](
        axis,
        (x, position),
        (dims[0], position_dim),
        dimension_numbers=GatherDimensionNumbers(every, (), every),
        slice_sizes=slice_sizes,
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def _dynamic_slice_lower(ctx: Lowering, x: Value, *indices: Value, slice_sizes):
    names = ", ".join(v.name for v in (x, *indices))
    text = f"stablehlo.dynamic_slice {names}, sizes = {int_list(slice_sizes)}"
    return write(ctx, text, [x, *indices], ctx.out)


dynamic_slice_p = define(
    "dynamic_slice",
    abstract_eval=_dynamic_slice_aval,
    jvp=_dynamic_slice_jvp,
    transpose=_dynamic_slice_transpose,
    batch=_dynamic_slice_batch,
    lower=_dynamic_slice_lower,
)


def _start_indices(shape: tuple[int, ...], indices: Any, negative: bool | Sequence[bool]) -> list:
    """The indices of a dynamic slice, as scalars, with negative ones counted from the end."""
    if not isinstance(indices, Sequence):
        ndim = len(shape_of(indices))
        if ndim != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {shape_of(indices)}")
        if isinstance(indices, np.ndarray):
            indices = indices.astype(canonicalize_dtype(indices.dtype))
        else:
            indices = unstack(indices)
    if len(indices) != len(shape):
        raise ValueError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(indices)} vs {shape})"
        )
    flags = [negative] * len(shape) if isinstance(negative, bool) else negative
    return [
        _from_start(i, size) if allowed else _checked(i, size)
        for i, size, allowed in zip(indices, shape, flags, strict=True)
    ]


def _from_start(i: Any, size: int) -> Any:
    """An index with its axis's size added if it is negative."""
    if isinstance(i, int):
        return _strong(i + size if i < 0 else i)
    dtype: Any = get_aval(i).dtype  # pyright: ignore[reportAttributeAccessIssue]
    if not issubdtype(dtype, np.signedinteger):
        return i
    # An index type that cannot hold the size wraps around, as the sum would.
    step = np.asarray(size).astype(dtype)[()]
    if isinstance(i, np.generic):
        return (i + step).astype(dtype) if i < 0 else i
    negative = lt(i, np.zeros((), dtype)[()])
    strong = convert_element_type(i, dtype) if is_weakly_typed(i) else i
    return select_n(negative, i, add(strong, step))


def _strong(i: Any) -> Any:
    """A Python integer with a dtype that is not weak; anything else as it is."""
    return python_scalar_dtype(int).type(i) if type(i) is int else i


def _checked(i: Any, size: int) -> Any:
    """An index that must not be negative, as far as that is known."""
    if isinstance(i, int | np.integer) and i < 0:
        raise ValueError(
            f"Index {i} is out of bounds for dimension {size} if allow_negative_indices=False"
        )
    return _strong(i)


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """A part of an array, of fixed size, at a computed position.

    Args:
      operand: an array of any dtype.
      start_indices: where the part starts: an integer scalar for each dimension, or an array of
        them. The part is moved to lie within the array.
      slice_sizes: its shape.
      allow_negative_indices: whether negative positions count from the end.

    Raises:
      TypeError: if the part is larger than the array, or the positions are not integers of one
        dtype.
      ValueError: if there is not one position for each dimension.

    Example:
      >>> dynamic_slice(np.ones((4, 6)), (1, 0), (2, 3)).shape
      (2, 3)

    Source: StableHLO ``dynamic_slice``.
    """
    indices = _start_indices(shape_of(operand), start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *indices, slice_sizes=as_sizes(slice_sizes))


# dynamic_update_slice


def _dynamic_update_slice_aval(x: ShapedArray, update: ShapedArray, *indices: ShapedArray):
    if x.ndim != update.ndim:
        raise TypeError(
            "dynamic_update_slice update must have the same rank as operand, got update shape "
            f"{update.shape} for operand shape {x.shape}."
        )
    if any(n > size for n, size in zip(update.shape, x.shape, strict=True)):
        raise TypeError(
            "dynamic_update_slice update shape must be smaller than operand shape, got update "
            f"shape {update.shape} for operand shape {x.shape}."
        )
    check_dtypes_match("dynamic_update_slice", (x, update))
    _check_indices("dynamic_update_slice", x, indices)
    return x.strip_weak_type()


def _dynamic_update_slice_jvp(primals, tangents):
    x, update, *indices = primals
    result = dynamic_update_slice_p.bind(x, update, *indices)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return result, Zero.from_primal(result)
    t_x, t_update = instantiate(tangents[0]), instantiate(tangents[1])
    return result, dynamic_update_slice_p.bind(t_x, t_update, *indices)


def _dynamic_update_slice_transpose(ct, x, update, *indices):
    ct_x = ct_update = None
    like: Any = update.aval if is_undefined_primal(update) else get_aval(update)
    if is_undefined_primal(x):
        ct_x = dynamic_update_slice_p.bind(ct, zeros_of(like), *indices)
    if is_undefined_primal(update):
        ct_update = dynamic_slice_p.bind(ct, *indices, slice_sizes=like.shape)
    return [ct_x, ct_update, *[None] * len(indices)]


def _dynamic_update_slice_batch(axis, args, dims):
    x, update, *indices = args
    if not indices:
        return update, dims[1]
    position, position_dim = stack_scalars(indices, dims[2:], axis.size)
    every = tuple(range(len(indices)))
    return batch_rules[scatter_p](
        axis,
        (x, position, update),
        (dims[0], position_dim, dims[1]),
        dimension_numbers=ScatterDimensionNumbers(every, (), every),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        update_jaxpr=None,
        update_consts=(),
    )


def _dynamic_update_slice_lower(ctx: Lowering, *operands: Value):
    names = ", ".join(v.name for v in operands)
    return write(ctx, f"stablehlo.dynamic_update_slice {names}", operands, ctx.out)


dynamic_update_slice_p = define(
    "dynamic_update_slice",
    abstract_eval=_dynamic_update_slice_aval,
    jvp=_dynamic_update_slice_jvp,
    transpose=_dynamic_update_slice_transpose,
    batch=_dynamic_update_slice_batch,
    lower=_dynamic_update_slice_lower,
)


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """An array with a part of it, at a computed position, replaced.

    Args:
      operand: an array of any dtype.
      update: the part, of the same dtype and rank.
      start_indices, allow_negative_indices: where it starts, as in ``dynamic_slice``.

    Raises:
      TypeError: if the part is larger than the array or of another dtype, or the positions are
        not integers of one dtype.
      ValueError: if there is not one position for each dimension.

    Example:
      >>> x = np.ones((4, 6), np.float32)
      >>> dynamic_update_slice(x, 2 * x[:2, :3], (1, 0)).shape
      (4, 6)

    Source: StableHLO ``dynamic_update_slice``.
    """
    indices = _start_indices(shape_of(operand), start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *indices)


# The forms for one axis.


def _along(axis: int, ndim: int, start: Any) -> list:
    """``start`` at one axis, and zeros of its dtype at the others."""
    aval: Any = get_aval(start)
    indices: list[Any] = [np.zeros((), aval.dtype)[()]] * ndim
    indices[axis] = start
    return indices


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """A part of an array, of fixed size, at a computed position along one axis.

    Example:
      >>> dynamic_slice_in_dim(np.ones((4, 6)), 1, 2, axis=1).shape
      (4, 2)
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    sizes = (*shape[:axis], index(slice_size), *shape[axis + 1 :])
    indices = _along(axis, len(shape), start_index)
    return dynamic_slice(operand, indices, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """An array with a part of it, at a computed position along one axis, replaced.

    Example:
      >>> x = np.ones((4, 6), np.float32)
      >>> dynamic_update_slice_in_dim(x, x[:2], 1, axis=0).shape
      (4, 6)
    """
    ndim = len(shape_of(operand))
    indices = _along(canonical_axis(axis, ndim), ndim, start_index)
    return dynamic_update_slice(
        operand, update, indices, allow_negative_indices=allow_negative_indices
    )


_programs: dict[Any, Jaxpr] = {}


def _staged(fun: Callable[..., Any], name: str, args: Sequence[Any], static: tuple) -> Any:
    """Call ``fun(*args, *static)`` as one unit, traced once for each type."""
    avals = tuple(map(get_aval, args))
    key = (fun, avals, static)
    jaxpr = _programs.get(key)
    if jaxpr is None:
        jaxpr = trace_to_jaxpr(lambda *xs: [fun(*xs, *static)], avals, DebugInfo("jit", name))
        jaxpr = _programs.setdefault(key, jaxpr)
    return staged_call.bind(jaxpr, name, args)[0]


def _dynamic_index(operand, i, axis, keepdims, negative):
    part = dynamic_slice_in_dim(operand, i, 1, axis, allow_negative_indices=negative)
    return part if keepdims else squeeze(part, (axis,))


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """One computed position of an array along an axis.

    Args:
      index: an integer scalar; it is moved into bounds.
      axis: the axis.
      keepdims: whether the result keeps the axis, with size 1.
      allow_negative_indices: whether a negative position counts from the end.

    Example:
      >>> dynamic_index_in_dim(np.ones((4, 6)), 2, 0, keepdims=False).shape
      (6,)
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    static = (axis, bool(keepdims), bool(allow_negative_indices))
    return _staged(_dynamic_index, "dynamic_index_in_dim", (operand, index), static)


def _dynamic_update_index(operand, update, i, axis, negative):
    if len(shape_of(update)) != len(shape_of(operand)):
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, i, axis, allow_negative_indices=negative)


def dynamic_update_index_in_dim(
    operand: Any,
    update: Any,
    index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """An array with one computed position along an axis replaced.

    Args:
      operand: an array of any dtype.
      update: what to write, of the same dtype; with or without the axis.
      index, axis, allow_negative_indices: as in ``dynamic_index_in_dim``.

    Example:
      >>> x = np.ones((4, 6), np.float32)
      >>> dynamic_update_index_in_dim(x, x[0], 2, 0).shape
      (4, 6)
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    static = (axis, bool(allow_negative_indices))
    name = "dynamic_update_index_in_dim"
    return _staged(_dynamic_update_index, name, (operand, update, index), static)


# pad


def _pad_aval(x: ShapedArray, padding_value: ShapedArray, *, padding_config):
    if x.dtype != padding_value.dtype:
        raise TypeError(
            "pad operand and padding_value must be same dtype: got "
            f"{x.dtype} and {padding_value.dtype}."
        )
    if padding_value.shape:
        raise ValueError(f"padding_value must be a scalar; got shape {padding_value.shape}")
    if len(padding_config) != x.ndim:
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, got "
            f"padding_config {padding_config} for operand shape {x.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            "interior padding in padding_config must be nonnegative, got padding_config "
            f"{padding_config}"
        )
    shape = tuple(
        low + high + (n if n == 0 else n + (n - 1) * interior)
        for n, (low, high, interior) in zip(x.shape, padding_config, strict=True)
    )
    if any(n < 0 for n in shape):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for "
            f"padding_config {padding_config} and operand shape {x.shape}"
        )
    return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)


def _pad_transpose(ct, x, padding_value, *, padding_config):
    aval: Any = x.aval if is_undefined_primal(x) else get_aval(x)
    zero = np.zeros((), aval.dtype)[()]
    cut = [(-low, -high, 0) for low, high, _ in padding_config]
    spread = pad(ct, zero, cut)
    starts, steps = [0] * aval.ndim, [interior + 1 for *_, interior in padding_config]
    kept = slice(spread, starts, shape_of(spread), steps)
    ct_value = None
    if is_undefined_primal(padding_value):
        every = tuple(range(aval.ndim))
        ct_value = sub(reduce_sum(ct, every), reduce_sum(kept, every))
    return [kept if is_undefined_primal(x) else None, ct_value]


def _pad_batch(axis, args, dims, *, padding_config):
    x, value = args
    dim, value_dim = dims
    if dim is None:
        x, dim = batched_at(x, None, axis.size, 0), 0
    config = (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])
    if value_dim is None:
        return pad_p.bind(x, value, padding_config=config), dim
    # Pad with anything, then put each example's value where nothing came from the operand.
    aval: Any = get_aval(x)
    padded = pad(x, np.zeros((), aval.dtype)[()], config)
    kept = pad(full(aval.shape, True), False, config)
    values = broadcast_in_dim(move_dim(value, value_dim, 0), shape_of(padded), (dim,))
    return select_n(kept, values, padded), dim


def _pad_lower(ctx: Lowering, x: Value, padding_value: Value, *, padding_config):
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    text = (
        f"stablehlo.pad {x}, {padding_value}, low = {int_list(low)}, high = {int_list(high)}, "
        f"interior = {int_list(interior)}"
    )
    return write(ctx, text, [x, padding_value], ctx.out)


pad_p = define(
    "pad",
    abstract_eval=_pad_aval,
    jvp=linear,
    transpose=_pad_transpose,
    batch=_pad_batch,
    lower=_pad_lower,
)


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Surround an array with a value, and put it between the elements.

    Args:
      operand: an array of any dtype.
      padding_value: a scalar of that dtype.
      padding_config: for each dimension, how many to add before, after and between the elements;
        the first two may be negative, which removes elements.

    Raises:
      TypeError: if the dtypes differ.
      ValueError: if the configuration does not fit the operand.

    Example:
      >>> pad(np.ones((4, 6), np.float32), 0.0, [(1, 2, 0), (-1, 0, 2)]).shape
      (7, 15)

    Source: StableHLO ``pad``.
    """
    config = tuple(tuple(map(index, triple)) for triple in padding_config)
    return pad_p.bind(operand, padding_value, padding_config=config)
