"""The rules of matrix products and convolutions."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax

from ._elementwise import arithmetic, converted
from ._reductions import reduced
from ._writer import Value, Writer, bits_of, composed, kind_of, mosaic_rules

type _Pairs = tuple[Sequence[int], Sequence[int]]
type _Dimensions = tuple[_Pairs, _Pairs]


def _accumulator(dtype: np.dtype) -> np.dtype:
    return np.dtype("float32" if kind_of(dtype) == "f" else "int32")


def _dot_general(
    ctx: Writer,
    x: Value,
    y: Value,
    *,
    dimension_numbers: _Dimensions,
    precision: object,
    **params: object,
) -> Value:
    contracted, batched = dimension_numbers
    (x_contracted, y_contracted), (x_batched, y_batched) = contracted, batched
    out = ctx.out
    if kind_of(x.dtype) != kind_of(y.dtype) or kind_of(x.dtype) == "b":
        raise ctx.refuse(f"it multiplies {x.dtype} by {y.dtype}. Convert both to one dtype.")
    ranks = [
        len(v.shape) - len(c) - len(d)
        for v, c, d in ((x, x_contracted, x_batched), (y, y_contracted, y_batched))
    ]
    # tpu.matmul has one contracted, one free and at most one batch dimension an operand: others are
    # merged by transposition and reshape first.
    if len(x_contracted) != 1 or len(x_batched) > 1 or x_batched and ranks != [1, 1]:
        numbers = {"dimension_numbers": dimension_numbers, "precision": precision}
        return _normalized(ctx, x, y, **numbers, **params)
    if x.dtype != y.dtype and kind_of(x.dtype) == "f":
        common = x.dtype if bits_of(x.dtype) > bits_of(y.dtype) else y.dtype
        x, y = converted(ctx, x, common), converted(ctx, y, common)
    sides = [
        _matrix(ctx, x, x_contracted[0], x_batched),
        _matrix(ctx, y, y_contracted[0], y_batched),
    ]
    accumulator = _accumulator(x.dtype)
    if len(x.shape) == len(y.shape) == 1:
        # A product of vectors is a sum of products, not worth a matrix unit.
        product = [converted(ctx, v, accumulator) for v in (x, y)]
        total = reduced(ctx, lax.reduce_sum_p, arithmetic(ctx, lax.mul_p, *product), [0])
        return converted(ctx, total, out.dtype)
    result = _product(ctx, sides[0], sides[1], accumulator, precision)
    return converted(ctx, ctx.reshape(result, out.shape), out.dtype)


def _normal_form(x: ir.Array, y: ir.Array, **params: Any) -> ir.Array:
    """The product with one batch, one free and one contracted dimension of each operand."""
    (x_contracted, y_contracted), (x_batched, y_batched) = params["dimension_numbers"]
    free = [
        [d for d in range(v.ndim) if d not in c and d not in b]
        for v, c, b in ((x, x_contracted, x_batched), (y, y_contracted, y_batched))
    ]
    size = lambda v, dims: prod([v.shape[d] for d in dims])
    left = lax.reshape(
        lax.transpose(x, (*x_batched, *free[0], *x_contracted)),
        (size(x, x_batched), size(x, free[0]), size(x, x_contracted)),
    )
    right = lax.reshape(
        lax.transpose(y, (*y_batched, *free[1], *y_contracted)),
        (size(y, y_batched), size(y, free[1]), size(y, y_contracted)),
    )
    shape = [*[x.shape[d] for d in (*x_batched, *free[0])], *[y.shape[d] for d in free[1]]]
    dtype = params["preferred_element_type"]
    # Nothing to sum: an outer product, by broadcasting.
    if not x_contracted:
        columns = lax.reshape(right, (right.shape[0], 1, right.shape[1]))
        product = lax.mul(left, columns) if left.dtype == right.dtype else left * columns
        return lax.convert_element_type(lax.reshape(product, shape), dtype or product.dtype)
    options = {"precision": params.get("precision"), "preferred_element_type": dtype}
    if not x_batched:
        rows, columns = (lax.squeeze(v, (0,)) for v in (left, right))
        product = lax.dot_general(rows, columns, (((1,), (1,)), ((), ())), **options)
    else:
        product = lax.dot_general(left, right, (((2,), (2,)), ((0,), (0,))), **options)
    return lax.reshape(product, shape)


_normalized = composed(_normal_form)

type _Side = tuple[Value, int, list[int], tuple[int, ...]]


def _matrix(ctx: Writer, x: Value, contracted: int, batched: Sequence[int]) -> _Side:
    """An operand with one free dimension, its contracted, its free and its batch dimensions."""
    free = [d for d in range(len(x.shape)) if d != contracted and d not in batched]
    if len(free) == 1:
        return x, contracted, free, tuple(batched)
    if not free and not batched:
        return ctx.reshape(x, (1, *x.shape)), 1, [0], ()
    last = len(x.shape) - 1
    # Several free dimensions are merged by a reshape, which is possible where they are adjacent:
    # all before the contracted one, or all after it.
    if batched or contracted not in (0, last) or not free:
        raise ctx.refuse(
            f"an operand of shape {x.shape} has {len(free)} dimensions that are neither "
            "contracted nor of the batch. Reshape it to one."
        )
    size = x.shape[contracted]
    rows = prod([x.shape[d] for d in free])
    if contracted == last:
        return ctx.reshape(x, (rows, size)), 1, [0], ()
    return ctx.reshape(x, (size, rows)), 0, [1], ()


def _product(
    ctx: Writer, left: _Side, right: _Side, accumulator: np.dtype, precision: object
) -> Value:
    x, x_contracted, x_free, x_batched = left
    y, y_contracted, y_free, y_batched = right
    shape = tuple([x.shape[d] for d in (*x_batched, *x_free)] + [y.shape[d] for d in y_free])
    # The attribute's output order: pairs of (operand, dimension), the batch first.
    pairs = [0, *x_batched] if x_batched else []
    pairs += [0, x_free[0], 1, y_free[0]]
    lists = [[x_contracted], [y_contracted], x_free, y_free, pairs, x_batched, y_batched]
    numbers = ", ".join(f"[{', '.join(map(str, part))}]" for part in lists)
    fields = [f"dimension_numbers = #tpu.dot_dimension_numbers<{numbers}>"]
    if _is_highest(precision):
        fields.append("precision = #tpu.contract_precision<fp32>")
    fields += [
        f"{name} = false" for name in ("transpose_lhs", "transpose_lhs_hint", "transpose_rhs")
    ]
    aval = ir.ShapedArray(shape, accumulator)
    return ctx.emit("tpu.matmul", [x, y, ctx.dense(0, aval)], aval, ", ".join(fields))


def _is_highest(precision: object) -> bool:
    parts = precision if isinstance(precision, tuple | list) else (precision,)
    return any(str(getattr(part, "name", part)).upper() == "HIGHEST" for part in parts)


def _conv(ctx: Writer, x: Value, kernel: Value, **params: Any) -> Value:
    out, numbers = ctx.out, params["dimension_numbers"]
    lists: list[str] = []
    for spec in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec):
        first, second, *spatial = spec
        # A kernel's specification begins with its output features; the attribute's with the input.
        if spec is numbers.rhs_spec:
            first, second = second, first
        lists += [str(first), str(second), f"[{', '.join(map(str, spatial))}]"]
    array = lambda values: ", ".join(map(str, values))
    flat = [n for pair in params["padding"] for n in pair]
    fields = [
        f"batch_group_count = {params['batch_group_count']} : i64",
        f"dimension_numbers = #tpu.conv_dimension_numbers<{', '.join(lists)}>",
        f"feature_group_count = {params['feature_group_count']} : i64",
        f"lhs_dilation = array<i64: {array(params['lhs_dilation'])}>",
        f"padding = array<i64: {array(flat)}>",
        f"rhs_dilation = array<i64: {array(params['rhs_dilation'])}>",
        f"window_reversal = array<i1: {array(['false'] * len(params['window_strides']))}>",
        f"window_strides = array<i64: {array(params['window_strides'])}>",
    ]
    if _is_highest(params.get("precision")):
        fields.append("precision = #tpu.contract_precision<fp32>")
    aval = ir.ShapedArray(out.shape, _accumulator(x.dtype))
    result = ctx.emit("tpu.conv", [x, kernel, ctx.dense(0, aval)], aval, ", ".join(fields))
    return converted(ctx, result, out.dtype)


mosaic_rules[lax.dot_general_p] = _dot_general
mosaic_rules[lax.conv_general_dilated_p] = _conv
