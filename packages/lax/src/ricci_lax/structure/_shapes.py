"""Shape operations that are one another's transposes, and ``reduce_sum``.

The lowest layer of primitives: every other module may import this one.
"""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NoReturn, cast

import numpy as np

from ricci_autodiff import linear
from ricci_batching import move_dim
from ricci_ir import (
    Array,
    ArrayLike,
    FactorMap,
    Primitive,
    Shape,
    ShapedArray,
    ShapeDtypeStruct,
    ShapeLike,
    Tracer,
    argument_aval,
    as_array,
    cast_varying,
    context,
    define,
    eval_trace,
    factors,
    float0,
    get_aval,
    hides,
    lenient_sharding,
    linear_in_all,
    makes_sharding,
    sharding_forms,
)
from ricci_lax.rules._checkify import checks_nan
from ricci_stablehlo import Lowering, Value, int_list, tensor_type

from . import _exact_rules as exact
from ._operand_types import check_dtype, numeric

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "expand_dims",
    "reduce_sum",
    "reduce_sum_p",
    "reshape",
    "reshape_p",
    "squeeze",
    "squeeze_p",
    "transpose",
    "transpose_p",
]


class Placement:
    """How a new array gets a requested sharding; the package that has devices registers it."""

    __slots__ = ("checked", "constrain")

    constrain: Callable[[Any, Any], Array]
    checked: Callable[[Any], Any]

    def __init__(self) -> None:
        self.constrain = lambda x, sharding: _no_placement(sharding)
        self.checked = _no_placement

    def register(
        self, constrain: Callable[[Any, Any], Array], checked: Callable[[Any], Any]
    ) -> None:
        """Set what is done with a sharding.

        Args:
          constrain: ``constrain(x, sharding)`` gives ``x`` that sharding.
          checked: ``checked(out_sharding)`` is the sharding that a user's argument
            ``out_sharding`` means; it raises where that is none.
        """
        self.constrain = constrain
        self.checked = checked

    def as_asked(self, x: Array, out_sharding: object) -> Array:
        """``x`` with the sharding that a user asked for by ``out_sharding``, if it was given."""
        return x if out_sharding is None else self.constrain(x, self.checked(out_sharding))


def _no_placement(sharding: object) -> NoReturn:
    raise NotImplementedError(
        f"an array was asked for with sharding {sharding}, but nothing that places arrays on "
        "devices is installed. Import ricci_xla, or leave the sharding out."
    )


placement: Placement = Placement()


def bind_divided(
    primitive: Primitive,
    operands: Sequence[Any],
    rank: int,
    sharding: object,
    params: dict[str, Any],
    name: str = "sharding",
) -> Array:
    """Apply a primitive that takes the sharding of its result, where types can say it.

    Args:
      primitive, operands, params: the operation.
      rank: the rank of the result.
      sharding: the result's sharding.
      name: the primitive's parameter for it.
    """
    typed = sharding_forms.read(rank, sharding)
    if typed is not None and typed.unreduced and name == "sharding":
        own = [array_aval(x).type_sharding for x in operands]
        if not any(known is not None and known.unreduced for known in own):
            # The devices' terms add up to the value, which is not itself a term of all.
            filled = primitive.bind(*operands, **params, **{name: typed.update(unreduced=())})
            return placement.constrain(filled, sharding)
    if typed is not None:
        return primitive.bind(*operands, **params, **{name: typed})
    with lenient_sharding(True):
        result = primitive.bind(*operands, **params, **{name: None})
    return placement.constrain(result, sharding)


def bind_placed(
    primitive: Primitive,
    operands: Sequence[Any],
    rank: int,
    out_sharding: object,
    params: dict[str, Any],
    name: str = "sharding",
) -> Array:
    """``bind_divided`` with what a user asked for by ``out_sharding``."""
    return bind_divided(primitive, operands, rank, placement.checked(out_sharding), params, name)


def place_of(x: object, shape: Shape) -> Any:
    """Where an array of a shape goes that is made like ``x``, if ``x`` says so.

    It does if it has that shape and was put somewhere, or describes an array with a sharding.
    """
    if context.trace is not eval_trace or isinstance(x, Tracer):
        described = isinstance(x, ShapeDtypeStruct)
        aval: Any = argument_aval(x) if described else getattr(x, "aval", None)
        if aval is None or aval.type_sharding is None or aval.shape != shape:
            return None
        return aval.sharding if aval.type_sharding.is_divided else None
    if not getattr(x, "committed", True):
        return None
    where = getattr(x, "sharding", None)
    return None if where is None or np.shape(x) != shape else where  # pyright: ignore


# ``get_aval`` of an array: such a type has a shape and a dtype.
array_aval = cast(Callable[[Any], ShapedArray], get_aval)


def shape_of(x: ArrayLike) -> tuple[int, ...]:
    """The shape of an array, a tracer or a scalar."""
    return array_aval(x).shape


def as_sizes(shape: ShapeLike) -> tuple[int, ...]:
    """A shape given by a user as a tuple of ints; a single int is a shape of one dimension.

    Raises:
      TypeError: if it is not a sequence of concrete integers.
    """
    try:
        return tuple(map(index, shape))  # pyright: ignore[reportArgumentType]
    except TypeError:
        try:
            return (index(shape),)  # pyright: ignore[reportArgumentType]
        except TypeError:
            raise TypeError(
                f"{shape!r} is no shape: give integers that are known while tracing. A size that "
                "depends on an argument of jit must be computed outside, or be a static "
                "argument."
            ) from None


def canonical_axis(axis: int, ndim: int) -> int:
    """An axis counted from the start.

    Raises:
      ValueError: if the array has no such axis.
    """
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array of dimension {ndim}.")
    return axis + ndim if axis < 0 else axis


def write(ctx: Lowering, text: str, operands: Sequence[Value], out: ShapedArray) -> Value:
    """Write an operation whose text ends in its full signature, ``(types) -> type``."""
    name = ctx.new_name()
    types = ", ".join(tensor_type(x.aval) for x in operands)
    ctx.write(f"{name} = {text} : ({types}) -> {tensor_type(out)}")
    return Value(name, out)


def check_nonnegative(name: str, shape: Sequence[int]) -> None:
    """Raise ``TypeError`` for a shape with a negative size."""
    if any(size < 0 for size in shape):
        raise TypeError(f"{name}: the shape {shape} has a dimension of negative size.")


# broadcast_in_dim


def _broadcast_in_dim_aval(
    x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape, sharding
) -> ShapedArray:
    dims = broadcast_dimensions
    check_nonnegative("broadcast_in_dim", shape)
    if len(dims) != x.ndim:
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions={dims} does not say where each of the "
            f"{x.ndim} dimensions of the operand goes."
        )
    if x.ndim > len(shape):
        raise TypeError(
            f"broadcast_in_dim: an operand of rank {x.ndim} does not fit into a shape of "
            f"{len(shape)} dimensions, {shape}."
        )
    if any(not 0 <= d < len(shape) for d in dims):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions={dims} names a dimension that shape "
            f"{shape} lacks."
        )
    if any(size not in (1, shape[d]) for size, d in zip(x.shape, dims, strict=True)):
        raise TypeError(
            f"broadcast_in_dim: an operand of shape {x.shape} cannot be laid along "
            f"dimensions {dims} of {shape}. Sizes must agree there, or be 1 in the operand."
        )
    if len(set(dims)) != len(dims):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions={dims} must name each dimension only "
            "once, in increasing order."
        )
    return x.update(shape=shape)


def _broadcast_in_dim_transpose(ct, x, *, shape, broadcast_dimensions, sharding):
    sizes = x.aval.shape
    repeated = tuple(i for i, size in enumerate(sizes) if size == 1)
    kept = [d for size, d in zip(sizes, broadcast_dimensions, strict=True) if size != 1]
    summed = tuple(d for d in range(len(shape)) if d not in kept)
    total = transpose(reduce_sum(ct, summed), _inverse(_inverse(kept)))
    return [expand_dims(total, repeated)]


def _broadcast_in_dim_batch(axis, args, dims, *, shape, broadcast_dimensions, sharding):
    x = move_dim(args[0], dims[0], 0)
    new_dims = (0, *(d + 1 for d in broadcast_dimensions))
    new_shape = (shape_of(x)[0], *shape)
    result = broadcast_in_dim_p.bind(
        x, shape=new_shape, broadcast_dimensions=new_dims, sharding=sharding
    )
    return result, 0


def _broadcast_in_dim_lower(
    ctx: Lowering, x: Value, *, broadcast_dimensions: Shape, **params: Any
) -> Value:
    text = f"stablehlo.broadcast_in_dim {x}, dims = {int_list(broadcast_dimensions)}"
    return write(ctx, text, [x], ctx.out)


_broadcast_in_dim_usual = hides(broadcast_dimensions=(), sharding=None)


def _broadcast_in_dim_shown(*, shape: Shape, **params: Any) -> dict[str, Any]:
    return _broadcast_in_dim_usual(**params)  # the result's type says the shape


def _broadcast_in_dim_factors(
    x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape, **params: Any
) -> FactorMap:
    dims: list[int | None] = [None] * len(shape)
    for i, d in enumerate(broadcast_dimensions):
        if x.shape[i] == shape[d]:
            dims[d] = i
    return FactorMap((tuple(range(x.ndim)),), (tuple(dims),))


broadcast_in_dim_p: Primitive = define(
    "broadcast_in_dim",
    sharding=makes_sharding(factors(_broadcast_in_dim_factors)),
    sums=linear_in_all,
    abstract_eval=_broadcast_in_dim_aval,
    jvp=linear,
    transpose=_broadcast_in_dim_transpose,
    batch=_broadcast_in_dim_batch,
    lower=_broadcast_in_dim_lower,
    shown=_broadcast_in_dim_shown,
    exact=exact.broadcast_in_dim,
    follow=1,
)


def broadcast_in_dim(
    operand: ArrayLike,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: object = None,
) -> Array:
    """Repeat an array along new dimensions, and along those of size 1.

    Args:
      operand: an array of any dtype.
      shape: the result's shape.
      broadcast_dimensions: for each dimension of the operand, the dimension of the result that
        it becomes; their sizes must be equal unless the operand's is 1.
      out_sharding: the sharding of the result.

    Raises:
      TypeError: if the dimensions do not fit the shapes.

    Example:
      >>> broadcast_in_dim(np.arange(3), (2, 3), (1,)).shape
      (2, 3)

    Source: StableHLO ``broadcast_in_dim``.
    """
    shape, dims = as_sizes(shape), tuple(map(index, broadcast_dimensions))
    if shape_of(operand) == shape and dims == tuple(range(len(shape))) and out_sharding is None:
        return as_array(operand)
    if out_sharding is None:
        return broadcast_in_dim_p.bind(
            operand, shape=shape, broadcast_dimensions=dims, sharding=None
        )
    params = {"shape": shape, "broadcast_dimensions": dims}
    return bind_placed(broadcast_in_dim_p, (operand,), len(shape), out_sharding, params)


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: object = None) -> Array:
    """Repeat an array along new leading dimensions of the given sizes.

    Example:
      >>> broadcast(np.arange(3), (2, 4)).shape
      (2, 4, 3)
    """
    sizes, shape = as_sizes(sizes), shape_of(operand)
    dims = range(len(sizes), len(sizes) + len(shape))
    return broadcast_in_dim(operand, (*sizes, *shape), dims, out_sharding=out_sharding)


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Insert dimensions of size 1, at these positions of the result.

    Raises:
      ValueError: if a position is given twice, or is out of bounds.

    Example:
      >>> expand_dims(np.ones((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    shape, dimensions = shape_of(array), tuple(dimensions)
    ndim = len(shape) + len(dimensions)
    inserted = {canonical_axis(d, ndim) for d in dimensions}
    if len(inserted) != ndim - len(shape):
        raise ValueError(f"expand_dims: dimensions {dimensions} name one place twice.")
    if not inserted:
        return as_array(array)
    sizes = iter(shape)
    new_shape = tuple(1 if d in inserted else next(sizes) for d in range(ndim))
    kept = tuple(d for d in range(ndim) if d not in inserted)
    return broadcast_in_dim_p.bind(array, shape=new_shape, broadcast_dimensions=kept, sharding=None)


# reshape


def _reshape_aval(
    x: ShapedArray, *, new_sizes: Shape, dimensions: Shape | None, sharding
) -> ShapedArray:
    if any(size < 0 for size in new_sizes):
        raise TypeError(
            f"reshape: the new shape {new_sizes} has a negative size. Work the size out "
            "from those of the operand."
        )
    out = x.update(shape=new_sizes)
    if out.size != x.size:
        raise TypeError(
            f"reshape: {x.size} elements, of shape {x.shape}, do not fill shape "
            f"{new_sizes}, which has {out.size}."
        )
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError(
            f"reshape: dimensions={dimensions} does not list each dimension of shape "
            f"{x.shape} once."
        )
    return out


def _reshape_transpose(ct, x, *, new_sizes, dimensions, sharding):
    shape = x.aval.shape
    if dimensions is None:
        return [reshape(ct, shape)]
    permuted = reshape(ct, tuple(shape[d] for d in dimensions))
    return [transpose(permuted, _inverse(dimensions))]


def _reshape_batch(axis, args, dims, *, new_sizes, dimensions, sharding):
    x = move_dim(args[0], dims[0], 0)
    if dimensions is not None:
        dimensions = (0, *(d + 1 for d in dimensions))
    sizes = (shape_of(x)[0], *new_sizes)
    return reshape_p.bind(x, new_sizes=sizes, dimensions=dimensions, sharding=sharding), 0


def _reshape_lower(ctx: Lowering, x: Value, *, dimensions: Shape | None, **params: Any) -> Value:
    out = ctx.out
    if dimensions is not None:
        x = lower_transpose(ctx, x, dimensions)
    return write(ctx, f"stablehlo.reshape {x}", [x], out)


def _reshape_factors(x: ShapedArray, *, new_sizes: Shape, **params: Any) -> FactorMap:
    """Dimensions that are merged bring their axes along; one that is split leaves its to the first.

    Dimensions of size 1 are left out. The others are grouped so that each group of the operand has
    the size of a group of the result.
    """
    given = [i for i, size in enumerate(x.shape) if size != 1]
    operand: list[int | None] = [None] * x.ndim
    results: list[int | tuple[int, ...] | None] = [None] * len(new_sizes)
    made = [i for i, size in enumerate(new_sizes) if size != 1]
    while given and made:
        old, new = [given.pop(0)], [made.pop(0)]
        sizes = [x.shape[old[0]], new_sizes[new[0]]]
        while sizes[0] != sizes[1] and (given if sizes[0] < sizes[1] else made):
            if sizes[0] < sizes[1]:
                old.append(given.pop(0))
                sizes[0] *= x.shape[old[-1]]
            else:
                new.append(made.pop(0))
                sizes[1] *= new_sizes[new[-1]]
        if len(old) == 1 or len(new) == 1:
            for i in old:
                operand[i] = i
            results[new[0]] = old[0] if len(old) == 1 else tuple(old)
    advice = "Say how the result is to be divided: lax.reshape(x, sizes, out_sharding=P(...))."
    return FactorMap((tuple(operand),), (tuple(results),), advice=advice)


reshape_p: Primitive = define(
    "reshape",
    sharding=makes_sharding(factors(_reshape_factors)),
    sums=linear_in_all,
    abstract_eval=_reshape_aval,
    jvp=linear,
    transpose=_reshape_transpose,
    batch=_reshape_batch,
    lower=_reshape_lower,
    exact=exact.reshape,
    follow=1,
)


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: object = None,
) -> Array:
    """Give an array another shape of the same size.

    Args:
      operand: an array of any dtype.
      new_sizes: the result's shape.
      dimensions: the order in which the operand's dimensions are read, by default as they are.
      out_sharding: the sharding of the result.

    Raises:
      TypeError: if the sizes differ, or ``dimensions`` is not a permutation.

    Example:
      >>> reshape(np.ones((2, 3)), (6,)).shape
      (6,)

    Source: StableHLO ``reshape``.
    """
    sizes, shape = as_sizes(new_sizes), shape_of(operand)
    if dimensions is not None:
        dimensions = tuple(map(index, dimensions))
        if dimensions == tuple(range(len(shape))):
            dimensions = None
    if sizes == shape and dimensions is None and out_sharding is None:
        return as_array(operand)
    if out_sharding is None:
        return reshape_p.bind(operand, new_sizes=sizes, dimensions=dimensions, sharding=None)
    params = {"new_sizes": sizes, "dimensions": dimensions}
    return bind_placed(reshape_p, (operand,), len(sizes), out_sharding, params)


# squeeze


def _squeeze_aval(x: ShapedArray, *, dimensions: Shape) -> ShapedArray:
    if not all(0 <= d < x.ndim for d in dimensions):
        raise ValueError(
            f"squeeze: dimensions {tuple(dimensions)} are not all dimensions of shape {x.shape}."
        )
    return x.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in dimensions))


def _squeeze_batch(axis, args, dims, *, dimensions):
    x = move_dim(args[0], dims[0], 0)
    return squeeze_p.bind(x, dimensions=tuple(d + 1 for d in dimensions)), 0


def _squeeze_factors(x: ShapedArray, *, dimensions: Shape) -> FactorMap:
    dims = tuple(range(x.ndim))
    return FactorMap((dims,), (tuple(i for i in dims if i not in dimensions),))


squeeze_p: Primitive = define(
    "squeeze",
    sharding=factors(_squeeze_factors),
    sums=linear_in_all,
    abstract_eval=_squeeze_aval,
    jvp=linear,
    transpose=lambda ct, x, *, dimensions: [expand_dims(ct, dimensions)],
    batch=_squeeze_batch,
    lower=lambda ctx, x, *, dimensions: write(ctx, f"stablehlo.reshape {x}", [x], ctx.out),
    exact=exact.squeeze,
    follow=1,
)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Remove dimensions of size 1.

    Raises:
      ValueError: if a dimension is given twice, is out of bounds or has another size.

    Example:
      >>> squeeze(np.ones((1, 2, 1)), (0, -1)).shape
      (2,)
    """
    shape = shape_of(array)
    dims = tuple(canonical_axis(d, len(shape)) for d in dimensions)
    if len(set(dims)) != len(dims):
        raise ValueError(f"squeeze: dimensions {dims} name one dimension twice.")
    if any(shape[d] != 1 for d in dims):
        raise ValueError(
            f"squeeze: of dimensions {dims} of shape {shape}, one has a size other than 1, "
            "which cannot be left out."
        )
    if not dims:
        return as_array(array)
    return squeeze_p.bind(array, dimensions=dims)


# transpose


def _transpose_aval(x: ShapedArray, *, permutation: Shape) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"transpose: permutation={permutation} does not list each dimension of shape "
            f"{x.shape} once."
        )
    return x.update(shape=tuple(x.shape[d] for d in permutation))


def _inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _transpose_batch(axis, args, dims, *, permutation):
    dim = dims[0]
    return transpose(args[0], (dim, *(p + (p >= dim) for p in permutation))), 0


def lower_transpose(ctx: Lowering, x: Value, permutation: Sequence[int]) -> Value:
    """Write a transposition of a value."""
    out = x.aval.update(shape=tuple(x.shape[d] for d in permutation))
    return write(ctx, f"stablehlo.transpose {x}, dims = {int_list(permutation)}", [x], out)


def _transpose_factors(x: ShapedArray, *, permutation: Shape) -> FactorMap:
    return FactorMap((tuple(range(x.ndim)),), (tuple(permutation),))


transpose_p: Primitive = define(
    "transpose",
    sharding=factors(_transpose_factors),
    sums=linear_in_all,
    abstract_eval=_transpose_aval,
    jvp=linear,
    transpose=lambda ct, x, *, permutation: [transpose(ct, _inverse(permutation))],
    batch=_transpose_batch,
    lower=lambda ctx, x, *, permutation: lower_transpose(ctx, x, permutation),
    exact=exact.transpose,
    follow=1,
)


def transpose(operand: ArrayLike, permutation: Sequence[int] | np.ndarray) -> Array:
    """Reorder an array's dimensions: the result's dimension ``i`` is ``permutation[i]``.

    Raises:
      TypeError: if it is not a permutation of the operand's dimensions.

    Example:
      >>> transpose(np.ones((2, 3)), (1, 0)).shape
      (3, 2)

    Source: StableHLO ``transpose``.
    """
    order = tuple(map(index, permutation))
    if order == tuple(range(len(order))) and len(order) == len(shape_of(operand)):
        return as_array(operand)
    return transpose_p.bind(operand, permutation=order)


# reduce_sum


def reduced_aval(x: ShapedArray, axes: Sequence[int]) -> ShapedArray:
    """The type of a reduction of an array over some of its axes.

    Raises:
      ValueError: if an axis is given twice or is out of bounds.
    """
    if len(set(axes)) != len(axes):
        raise ValueError(f"reduction: axes={axes} names an axis twice. Name each dimension once.")
    if not all(0 <= a < x.ndim for a in axes):
        raise ValueError(
            f"reduction: axes={axes} names an axis that is out of bounds for the {x.ndim} "
            f"dimensions of {x.dtype}[{','.join(map(str, x.shape))}]; count from 0."
        )
    return x.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))


def batched_axes(axes: Sequence[int], dim: int) -> tuple[tuple[int, ...], int]:
    """The axes to reduce of a batch at ``dim``, and where the result has its batch."""
    return tuple(a + (a >= dim) for a in axes), dim - sum(a < dim for a in axes)


def lower_reduce(ctx: Lowering, op: str, x: Value, init: ArrayLike, axes: Sequence[int]) -> Value:
    """Write a reduction by one operation, such as ``stablehlo.add``, from the value ``init``."""
    out = x.aval.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))
    start = ctx.constant(init, ShapedArray((), x.dtype))
    text = f"stablehlo.reduce({x} init: {start}) applies {op} across dimensions = {int_list(axes)}"
    return write(ctx, text, [x, start], out)


def _reduce_sum_aval(x: ShapedArray, *, axes: Shape, out_sharding) -> ShapedArray:
    check_dtype("reduce_sum", x, numeric)
    return reduced_aval(x, axes)


def _reduce_sum_transpose(ct, x, *, axes, out_sharding):
    kept = tuple(d for d in range(x.aval.ndim) if d not in axes)
    return [broadcast_in_dim(ct, x.aval.shape, kept)]


def _reduce_sum_batch(axis, args, dims, *, axes, out_sharding):
    axes, dim = batched_axes(axes, dims[0])
    if out_sharding is not None:
        found = array_aval(args[0]).type_sharding
        part = () if found is None else found.parts[dims[0]]
        out_sharding = out_sharding.insert_dimension(dim, part)
    return reduce_sum_p.bind(args[0], axes=axes, out_sharding=out_sharding), dim


def reduction_factors(*avals: ShapedArray, axes: Shape, **params: Any) -> FactorMap:
    """The factor map of a reduction over axes, which may be divided."""
    dims = tuple(range(avals[0].ndim))
    kept = tuple(i for i in dims if i not in axes)
    return FactorMap((dims,) * len(avals), (kept,), frozenset(axes))


reduce_sum_p: Primitive = define(
    "reduce_sum",
    sharding=makes_sharding(factors(reduction_factors)),
    sums=linear_in_all,
    abstract_eval=_reduce_sum_aval,
    jvp=linear,
    transpose=_reduce_sum_transpose,
    batch=_reduce_sum_batch,
    lower=lambda ctx, x, *, axes, out_sharding: lower_reduce(ctx, "stablehlo.add", x, 0, axes),
    checkify=checks_nan,
)


def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: object = None) -> Array:
    """The sum of an array over some of its axes, in the array's own dtype.

    Raises:
      ValueError: if an axis is given twice, is negative or out of bounds.
      TypeError: if the dtype is boolean.

    Example:
      >>> reduce_sum(np.ones((2, 3), np.float32), (0,)).shape
      (3,)

    Source: StableHLO ``reduce``.
    """
    axes = tuple(map(index, axes))
    if out_sharding is None:
        return reduce_sum_p.bind(operand, axes=axes, out_sharding=None)
    rank = len(shape_of(operand)) - len(axes)
    return bind_placed(reduce_sum_p, (operand,), rank, out_sharding, {"axes": axes}, "out_sharding")


def zeros_of(aval: ShapedArray) -> Array:
    """An array of zeros of a given type."""
    if aval.dtype == float0:
        return as_array(np.zeros(aval.shape, float0))
    zero = np.zeros((), aval.dtype)[()]
    fill = zero.item() if aval.weak_type else zero
    sharding = aval.type_sharding
    if sharding is None:
        return broadcast_in_dim(fill, aval.shape, ())
    divided = None if sharding.mesh is None else sharding
    zeros = broadcast_in_dim_p.bind(
        fill, shape=aval.shape, broadcast_dimensions=(), sharding=divided
    )
    return cast_varying(zeros, sharding.varying)
