"""The rules of reductions, of cumulative operations and of sorting."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax

from ._elementwise import converted
from ._writer import BOOL, Value, Writer, bits_of, composed, kind_of, mosaic_rules

_FLOAT32 = np.dtype("float32")


def _least(dtype: np.dtype) -> float:
    return -np.inf if kind_of(dtype) == "f" else ir.iinfo(dtype).min


def _greatest(dtype: np.dtype) -> float:
    return np.inf if kind_of(dtype) == "f" else ir.iinfo(dtype).max


# By primitive: the kind for floats, for signed and for unsigned integers, and the first value.
_KINDS: dict[ir.Primitive, tuple[tuple[str, str, str], Callable[[np.dtype], float]]] = {
    lax.reduce_sum_p: (("add", "add", "add"), lambda dtype: 0),
    lax.reduce_max_p: (("maximumf", "maxsi", "maxui"), _least),
    lax.reduce_min_p: (("minimumf", "minsi", "minui"), _greatest),
}


def reduced(ctx: Writer, primitive: ir.Primitive, x: Value, axes: Sequence[int]) -> Value:
    """Write a sum, a maximum or a minimum along dimensions."""
    if not axes:
        return x
    dtype = x.dtype
    if bits_of(dtype) < 32:
        wide = {"f": _FLOAT32, "i": np.dtype("int32"), "u": np.dtype("uint32")}[kind_of(dtype)]
        return converted(ctx, reduced(ctx, primitive, converted(ctx, x, wide), axes), dtype)
    shape = tuple([n for d, n in enumerate(x.shape) if d not in axes])
    if not shape:  # a scalar is the element of a vector
        x, axes = ctx.reshape(x, (1, *x.shape)), [d + 1 for d in axes]
    names, first = _KINDS[primitive]
    aval = ir.ShapedArray(shape or (1,), dtype)
    start = ctx.dense(first(dtype), aval)
    dims = ", ".join(map(str, sorted(axes)))
    attributes = (
        f"kind = #vector.kind<{names['fiu'.index(kind_of(dtype))]}>, "
        f"reduction_dims = array<i64: {dims}>"
    )
    result = ctx.emit("vector.multi_reduction", [x, start], aval, attributes)
    return result if shape else ctx.reshape(ctx.reshape(result, (1,) * len(x.shape)), ())


def _reduction(primitive: ir.Primitive) -> Callable[..., Value]:
    return lambda ctx, x, *, axes, **_: reduced(ctx, primitive, x, axes)


def _logical(primitive: ir.Primitive) -> Callable[..., Value]:
    """Reductions of booleans, as the largest or the least of floats."""

    def rule(ctx: Writer, x: Value, *, axes: Sequence[int], **_: object) -> Value:
        if x.dtype != BOOL:
            raise ctx.refuse("its operand is not boolean. Reduce the bits one by one.")
        # Booleans as 0.0 and 1.0: the greatest is 1 if any holds, the least if all do.
        flags = converted(ctx, x, _FLOAT32)
        result = reduced(ctx, primitive, flags, axes)
        return ctx.compare(result, ctx.full(result.shape, 0.5, _FLOAT32), "gt")

    return rule


def _arg(name: str, best: ir.Primitive) -> Callable[..., Value]:
    def composition(
        x: ir.Array, *, axes: Sequence[int], index_dtype: np.dtype, **_: object
    ) -> ir.Array:
        # The first position of the extreme: the least among those whose element equals it.
        (axis,) = axes
        place = lax.broadcasted_iota(np.int32, x.shape, axis)
        reduce = lax.reduce_max if best is lax.reduce_max_p else lax.reduce_min
        top = lax.expand_dims(reduce(x, [axis]), [axis])
        candidates = lax.select(x == top, place, lax.full_like(place, x.shape[axis]))
        return lax.convert_element_type(lax.reduce_min(candidates, [axis]), index_dtype)

    compose = composed(composition)

    def rule(ctx: Writer, x: Value, *, axes: Sequence[int], **params: object) -> Value:
        if x.dtype != _FLOAT32 or len(x.shape) < 2:
            return compose(ctx, x, axes=axes, **params)
        out = ctx.out
        attributes = f"axis = {axes[0]} : i32, kind = #tpu.reduction_kind<{name}>"
        aval = ir.ShapedArray(out.shape, np.dtype("int32"))
        return converted(ctx, ctx.emit("tpu.reduce_index", [x], aval, attributes), out.dtype)

    return rule


def _folded(operation: Callable[[ir.Array, ir.Array], ir.Array]) -> Callable[..., Any]:
    """A reduction that halves a dimension until one element is left."""

    def reduce(x: ir.Array, *, axes: Sequence[int], **_: object) -> ir.Array:
        for axis in axes:
            while x.shape[axis] > 1:
                # Pairwise: log₂ n steps, each on half as many elements; an odd last element is
                # carried along.
                half = x.shape[axis] // 2
                odd = lax.slice_in_dim(x, 2 * half, None, axis=axis)
                first = lax.slice_in_dim(x, 0, half, axis=axis)
                second = lax.slice_in_dim(x, half, 2 * half, axis=axis)
                x = operation(first, second)
                if odd.shape[axis]:
                    x = lax.concatenate([x, odd], axis)
        return lax.squeeze(x, tuple(axes))

    return reduce


def _cumulative(
    operation: Callable[[ir.Array, ir.Array], ir.Array], first: Callable[[np.dtype], float]
) -> Callable[..., ir.Array]:
    """A cumulative operation in a logarithmic number of shifts."""

    def scan(x: ir.Array, *, axis: int, reverse: bool, **_: object) -> ir.Array:
        shift, size = 1, x.shape[axis]
        # Hillis and Steele's scan: after the step of shift s each element combines the 2 s elements
        # up to it.
        while shift < size:
            shape = list(x.shape)
            shape[axis] = shift
            room = lax.full(tuple(shape), first(x.dtype), x.dtype)
            if reverse:
                parts = [lax.slice_in_dim(x, shift, size, axis=axis), room]
            else:
                parts = [room, lax.slice_in_dim(x, 0, size - shift, axis=axis)]
            x = operation(x, lax.concatenate(parts, axis))
            shift *= 2
        return x

    return scan


def _log_add(x: ir.Array, y: ir.Array) -> ir.Array:
    top = lax.max(x, y)
    # −∞ − (−∞) would be NaN.
    finite = lax.select(top == -np.inf, lax.full_like(top, 0), top)
    return finite + lax.log(lax.exp(x - finite) + lax.exp(y - finite))


def _sort(*operands: ir.Array, dimension: int, num_keys: int, **_: object) -> list[ir.Array]:
    """A bitonic network, stable by the positions as the last key."""
    size, shape = operands[0].shape[dimension], operands[0].shape
    # A bitonic network takes a power of two. Fillers are the greatest values, and come later by
    # position, so that they end behind all elements.
    padded = 1 << (size - 1).bit_length()
    fills = [_greatest(x.dtype) if x.dtype != BOOL else True for x in operands]
    config = [(0, padded - size if d == dimension else 0, 0) for d in range(len(shape))]
    arrays = [
        lax.pad(x, np.asarray(fill, x.dtype), config)
        for x, fill in zip(operands, fills, strict=True)
    ]
    place = lax.broadcasted_iota(np.int32, arrays[0].shape, dimension)
    arrays = [*arrays[:num_keys], place, *arrays[num_keys:]]
    block = 2
    while block <= padded:
        distance = block // 2
        while distance:
            # An element's partner is at the position with this bit flipped; the bit of the block's
            # size gives the direction in which the pair is ordered.
            is_low = lax.eq(lax.bitwise_and(place, np.int32(distance)), np.int32(0))
            ascending = lax.eq(lax.bitwise_and(place, np.int32(block)), np.int32(0))
            others = [
                lax.select(
                    is_low, _shifted(x, -distance, dimension), _shifted(x, distance, dimension)
                )
                for x in arrays
            ]
            is_less = _lexicographic(arrays[: num_keys + 1], others[: num_keys + 1])
            keeps = lax.eq(is_less, lax.eq(is_low, ascending))
            arrays = [lax.select(keeps, x, y) for x, y in zip(arrays, others, strict=True)]
            distance //= 2
        block *= 2
    results = [*arrays[:num_keys], *arrays[num_keys + 1 :]]
    return [lax.slice_in_dim(x, 0, size, axis=dimension) for x in results]


def _shifted(x: ir.Array, shift: int, axis: int) -> ir.Array:
    size = x.shape[axis]
    cut = -shift % size
    parts = [lax.slice_in_dim(x, cut, size, axis=axis), lax.slice_in_dim(x, 0, cut, axis=axis)]
    return lax.concatenate(parts, axis)


def _lexicographic(xs: Sequence[ir.Array], ys: Sequence[ir.Array]) -> ir.Array:
    less = lax.lt(xs[-1], ys[-1])
    for x, y in zip(reversed(xs[:-1]), reversed(ys[:-1]), strict=True):
        less = lax.bitwise_or(lax.lt(x, y), lax.bitwise_and(lax.eq(x, y), less))
    return less


def _top_k(x: ir.Array, *, k: int, axis: int = -1, **_: object) -> list[ir.Array]:
    axis %= x.ndim
    values, indices = [], []
    place = lax.broadcasted_iota(np.int32, x.shape, axis)
    for _i in range(k):
        top = lax.expand_dims(lax.reduce_max(x, [axis]), [axis])
        candidates = lax.select(x == top, place, lax.full_like(place, x.shape[axis]))
        first = lax.expand_dims(lax.reduce_min(candidates, [axis]), [axis])
        values.append(top)
        indices.append(first)
        # The maximum is replaced by the least value, for the next round.
        x = lax.select(lax.eq(place, first), lax.full_like(x, _least(x.dtype)), x)
    return [lax.concatenate(values, axis), lax.concatenate(indices, axis)]


for _primitive in _KINDS:
    mosaic_rules[_primitive] = _reduction(_primitive)
mosaic_rules.update(
    {
        lax.argmax_p: _arg("arg_max", lax.reduce_max_p),
        lax.argmin_p: _arg("arg_min", lax.reduce_min_p),
        lax.cumlogsumexp_p: composed(_cumulative(_log_add, lambda dtype: -np.inf)),
        lax.cummax_p: composed(_cumulative(lax.max, _least)),
        lax.cummin_p: composed(_cumulative(lax.min, _greatest)),
        lax.cumprod_p: composed(_cumulative(lax.mul, lambda dtype: 1)),
        lax.cumsum_p: composed(_cumulative(lax.add, lambda dtype: 0)),
        lax.reduce_and_p: _logical(lax.reduce_min_p),
        lax.reduce_or_p: _logical(lax.reduce_max_p),
        lax.reduce_prod_p: composed(_folded(lax.mul)),
        lax.reduce_xor_p: composed(_folded(lax.bitwise_xor)),
        lax.sort_p: composed(_sort),
        lax.top_k_p: composed(_top_k),
    }
)
