"""``scaled_dot``: products of arrays in narrow dtypes whose blocks have scales."""

from collections.abc import Sequence
from operator import index

import numpy as np
from ml_dtypes import bfloat16, float8_e8m0fnu

import ricci_ir as ir
from ricci_autodiff import Zero, add_tangents, instantiate, jvp_flat, not_linear
from ricci_batching import batched_at
from ricci_ir import Array, ArrayLike, DTypeLike, ShapedArray
from ricci_lax.elementwise import convert_element_type, mul
from ricci_lax.staged_calls._composite import attribute_fields, lower_composite
from ricci_lax.structure import broadcast_in_dim, full, reshape
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_stablehlo import Lowering, Value

from ._dot import DotDimensionNumbers, dot_general

__all__ = ["scaled_dot"]

_bf16 = np.dtype(bfloat16)


def _check_scale(side: str, x: ShapedArray, scale: ShapedArray, contracting: Sequence[int]) -> None:
    for d, (size, count) in enumerate(zip(x.shape, scale.shape, strict=True)):
        if d not in contracting:
            if size != count:
                raise TypeError(
                    f"scaled_dot: {side}_scale of shape {scale.shape} must have the size of "
                    f"{side}, of shape {x.shape}, along dimension {d}, which is not contracted."
                )
        elif count == 0 or size % count:
            raise TypeError(
                f"scaled_dot: {side} of shape {x.shape} cannot be cut into {count} equal blocks "
                f"along dimension {d}, as {side}_scale of shape {scale.shape} asks for."
            )
        elif 1 < count == size or count > size:
            raise TypeError(
                f"scaled_dot: {side}_scale of shape {scale.shape} has a scale for each element of "
                f"{side} along dimension {d}; a block must have 2 elements at least."
            )


def _scaled_dot_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    lhs_scale: ShapedArray,
    rhs_scale: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype,
) -> ShapedArray:
    avals = (lhs, rhs, lhs_scale, rhs_scale)
    if any(aval.ndim != lhs.ndim for aval in avals):
        raise TypeError(
            "scaled_dot: lhs, rhs and their scales must all have one rank, got "
            f"{', '.join(aval.str_short() for aval in avals)}."
        )
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    product = _product_aval(lhs, rhs, dimension_numbers)
    for d, e in zip(lhs_batch, rhs_batch, strict=True):
        if len({lhs.shape[d], rhs.shape[e], lhs_scale.shape[d], rhs_scale.shape[e]}) > 1:
            raise TypeError(
                f"scaled_dot: the operands differ in size along the batch dimensions {(d, e)}: "
                f"{', '.join(aval.str_short() for aval in avals)}."
            )
    _check_scale("lhs", lhs, lhs_scale, lhs_contracting)
    _check_scale("rhs", rhs, rhs_scale, rhs_contracting)
    return ShapedArray(product.shape, preferred_element_type)


def _product_aval(lhs: ShapedArray, rhs: ShapedArray, numbers: DotDimensionNumbers) -> ShapedArray:
    """The type of the product of the operands in bfloat16."""
    wide = [aval.update(dtype=_bf16, weak_type=False) for aval in (lhs, rhs)]
    jaxpr = ir.trace_to_jaxpr(lambda x, y: [dot_general(x, y, numbers)], wide)
    return jaxpr.outvars[0].aval


def _unscaled(x: Array, scale: Array, contracting: Sequence[int]) -> Array:
    """An operand times its scales, each of which is repeated over its block."""
    shape = shape_of(x)
    for d in sorted(contracting, reverse=True):
        sizes = shape_of(scale)
        before, count, after = sizes[:d], sizes[d], sizes[d + 1 :]
        width = shape[d] // count
        positions = tuple(i + (i > d) for i in range(len(sizes)))
        # From (count) to (count, 1), to (count, width), and to one dimension of the operand's size.
        scale = broadcast_in_dim(scale, (*before, count, 1, *after), positions)
        scale = broadcast_in_dim(
            scale, (*before, count, width, *after), tuple(range(len(sizes) + 1))
        )
        scale = reshape(scale, (*before, count * width, *after))
    return mul(convert_element_type(x, _bf16), convert_element_type(scale, _bf16))


def _decomposed(
    lhs: Array,
    rhs: Array,
    lhs_scale: Array,
    rhs_scale: Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype,
) -> Array:
    """The scaled product, computed as a product of bfloat16 arrays."""
    (lhs_contracting, rhs_contracting), _ = dimension_numbers
    return dot_general(
        _unscaled(lhs, lhs_scale, lhs_contracting),
        _unscaled(rhs, rhs_scale, rhs_contracting),
        dimension_numbers,
        preferred_element_type=preferred_element_type,
    )


def _scaled_dot_jvp(primals, tangents, *, dimension_numbers, preferred_element_type):
    params = {
        "dimension_numbers": dimension_numbers,
        "preferred_element_type": preferred_element_type,
    }
    result = scaled_dot_p.bind(*primals, **params)
    # The product rule, on the operands times their scales.
    wide, changes = [], []
    for i, contracting in enumerate(dimension_numbers[0]):
        pair, ts = (primals[i], primals[i + 2]), (tangents[i], tangents[i + 2])
        unscaled = lambda x, s, dims=contracting: [_unscaled(x, s, dims)]
        (value,), (change,) = jvp_flat(unscaled, pair, ts)
        wide.append(value)
        changes.append(change)
    options = {"preferred_element_type": preferred_element_type}
    terms = [
        dot_general(x, y, dimension_numbers, **options)
        for x, y, t in ((changes[0], wide[1], changes[0]), (wide[0], changes[1], changes[1]))
        if type(t) is not Zero
    ]
    if not terms:
        return result, Zero.from_primal(result)
    return result, terms[0] if len(terms) == 1 else instantiate(add_tangents(*terms))


def _scaled_dot_batch(axis, args, dims, *, dimension_numbers, **params):
    up = lambda positions: tuple(d + 1 for d in positions)
    contracting, batch = (tuple(map(up, pair)) for pair in dimension_numbers)
    numbers = (contracting, tuple((0, *positions) for positions in batch))
    moved = [batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True)]
    return scaled_dot_p.bind(*moved, dimension_numbers=numbers, **params), 0


def _scaled_dot_lower(
    ctx: Lowering,
    *operands: Value,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype,
) -> Value:
    params = {
        "dimension_numbers": dimension_numbers,
        "preferred_element_type": preferred_element_type,
    }
    jaxpr = ir.trace_to_jaxpr(
        lambda *xs: [_decomposed(*xs, **params)], [x.aval for x in operands], origin=ir.no_origin
    )
    # The compiler expects lists of plain integers.
    numbers = ", ".join(f"[{', '.join(str(list(d)) for d in p)}]" for p in dimension_numbers)
    preferred = attribute_fields({"preferred_element_type": preferred_element_type})
    fields = f"dimension_numbers = [{numbers}], {preferred}"
    return lower_composite(ctx, "xla.scaled_dot", operands, jaxpr, fields)[0]


scaled_dot_p = ir.define(
    "scaled_dot",
    sharding=ir.unsharded(),
    abstract_eval=_scaled_dot_aval,
    jvp=_scaled_dot_jvp,
    transpose=not_linear,
    batch=_scaled_dot_batch,
    lower=_scaled_dot_lower,
)


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Multiply arrays whose blocks along the contracted dimensions have scales.

    Args:
      lhs, rhs: arrays of one rank, in float8 as a rule.
      lhs_scale, rhs_scale: arrays of the operands' shapes, except that they have one element
        for each block along the contracted dimensions; by default all ones.
      dimension_numbers: as for ``dot_general``; by default those of a product of matrices, or of
        batches of them.
      preferred_element_type: the dtype of the result, by default bfloat16.

    Returns:
      The product of the scaled arrays, computed from their values in bfloat16.

    Raises:
      TypeError: if ranks differ, sizes do not fit, or blocks are not equal.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> x, y = np.ones((2, 64), np.float32), np.ones((64, 3), np.float32)
      >>> lax.scaled_dot(x, y, lhs_scale=np.ones((2, 2), np.float32)).shape
      (2, 3)

    Source: the OCP Microscaling Formats (MX) specification, 1.0.
    """
    ndim = len(shape_of(lhs))
    if dimension_numbers is None:
        if ndim < 2:
            raise TypeError(
                f"scaled_dot: lhs has rank {ndim}; products of vectors need dimension_numbers."
            )
        batch = tuple(range(ndim - 2))
        dimension_numbers = (((ndim - 1,), (ndim - 2,)), (batch, batch))
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    numbers = (
        (tuple(map(index, lhs_contracting)), tuple(map(index, rhs_contracting))),
        (tuple(map(index, lhs_batch)), tuple(map(index, rhs_batch))),
    )
    if lhs_scale is None:
        lhs_scale = _ones(lhs, numbers[0][0])
    if rhs_scale is None:
        rhs_scale = _ones(rhs, numbers[0][1])
    preferred = _bf16 if preferred_element_type is None else preferred_element_type
    return scaled_dot_p.bind(
        lhs,
        rhs,
        lhs_scale,
        rhs_scale,
        dimension_numbers=numbers,
        preferred_element_type=ir.explicit_dtype(preferred, "scaled_dot"),
    )


def _ones(x: ArrayLike, contracting: Sequence[int]) -> Array:
    # Scales of the MX formats are powers of two without sign or mantissa (E8M0); one for the whole
    # contracted dimension is the fewest that the shapes allow.
    sizes = array_aval(x)
    shape = tuple(1 if d in contracting else n for d, n in enumerate(sizes.shape))
    return convert_element_type(full(shape, 1, _bf16), np.dtype(float8_e8m0fnu))
