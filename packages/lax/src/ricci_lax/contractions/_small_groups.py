"""Convolutions of small groups, as depthwise ones, by sums of shifted products: for CPUs.

XLA's CPU backend computes a convolution with groups one element of the result at a time. Where a
group has few input features, the result is a short sum over these and the kernel's positions, of
the operand, shifted, times an element of the kernel: whole rows, in vector instructions. The
derivative by the kernel has few elements, each a sum of products of rows.
"""

from itertools import product
from math import prod

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, Shape, ShapedArray
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._conversion import convert_element_type
from ricci_lax.elementwise._linear import add
from ricci_lax.elementwise._remainder import rem
from ricci_lax.reductions._window_shape import Padding
from ricci_lax.shapes._counted_loops import at_index, write_loop
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._slicing import pad, slice
from ricci_lax.structure._broadcasting import broadcast_in_dim, expand_dims, reduce_sum
from ricci_lax.structure._filling import full_like
from ricci_lax.structure._identity import optimization_barrier
from ricci_lax.structure._operand_types import shape_of
from ricci_lax.structure._reshaping import reshape
from ricci_lax.structure._transposing import transpose
from ricci_stablehlo import Lowering, Value, traced

from ._convolution_shape import ConvDimensionNumbers, spatial_sizes

# The module has some operations for each position of the kernel and each input feature of a group.
_MOST_TERMS = 64


def write_small_groups(
    ctx: Lowering,
    lhs: Value,
    rhs: Value,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **_: object,
) -> Value | None:
    """Write a convolution of real arrays, or its derivative by the kernel, as sums of products.

    Returns:
      The result, or None where the groups are not small.
    """
    out, (lhs_spec, rhs_spec, out_spec) = ctx.out, dimension_numbers
    if not all(map(ir.is_static_shape, padding)) or lhs.dtype.itemsize < 2:
        return None
    window, counts = spatial_sizes(rhs_spec, rhs.shape), spatial_sizes(out_spec, out.shape)
    # Rounding to a narrow type after each sum would lose what XLA's convolution keeps.
    is_narrow = ir.issubdtype(out.dtype, np.floating) and out.dtype.itemsize < 4
    dtype = np.dtype(np.float32) if is_narrow else out.dtype

    def operand(x: Array) -> Array:
        config = [(0, 0, 0)] * len(lhs.shape)
        for d, (low, high), gap in zip(lhs_spec[2:], padding, lhs_dilation, strict=True):
            config[d] = low, high, gap - 1
        # Fused with each of the products, what computes the operand would run once for each.
        x = convert_element_type(x, dtype)
        return optimization_barrier(pad(x, full_like(x, 0, shape=()), config))

    def kernel_in_order(y: Array) -> Array:
        return transpose(convert_element_type(y, dtype), _order(rhs_spec, lhs_spec))

    def converted(result: Array) -> Array:
        return convert_element_type(result, out.dtype)

    inputs = rhs.shape[rhs_spec[1]]
    is_forward = batch_group_count == 1 < feature_group_count
    if is_forward and inputs * prod(window) <= _MOST_TERMS:

        def forward(x: Array, y: Array) -> Array:
            y = convert_element_type(y, dtype)
            result = _sum_of_shifts(
                operand(x), y, lhs_spec, rhs_spec, counts, window_strides, rhs_dilation
            )
            return converted(transpose(result, _order(lhs_spec, out_spec)))

        return traced(forward)(ctx, lhs, rhs)
    inputs = out.shape[out_spec[0]]
    is_derivative = feature_group_count == 1 < batch_group_count
    if is_derivative and inputs * prod(counts) <= _MOST_TERMS:
        x, y = traced(operand)(ctx, lhs), traced(kernel_in_order)(ctx, rhs)
        sums = _write_sums_of_rows(
            ctx, x, y, lhs_spec, (inputs, *counts), strides=rhs_dilation, steps=window_strides
        )

        def derivative(*sums: Array) -> Array:
            rows = concatenate([reshape(total, (1, out.shape[out_spec[1]])) for total in sums], 0)
            result = reshape(rows, (inputs, *counts, out.shape[out_spec[1]]))
            last = len(out.shape) - 1
            return converted(transpose(result, _order((0, last, *range(1, last)), out_spec)))

        return traced(derivative)(ctx, *sums)
    return None


def _order(source: Shape, target: Shape) -> list[int]:
    """The permutation that brings dimensions of the roles ``source`` to those of ``target``."""
    order = dict(zip(target, source, strict=True))
    return [order[d] for d in range(len(order))]


def _shifted(x: Array, dims: Shape, starts: Shape, counts: Shape, strides: Shape) -> Array:
    """So many elements of some dimensions, from given starts on, with given strides."""
    limits, steps = list(shape_of(x)), [1] * len(shape_of(x))
    begins = [0] * len(limits)
    for d, start, count, stride in zip(dims, starts, counts, strides, strict=True):
        begins[d], limits[d], steps[d] = start, start + (count - 1) * stride + 1, stride
    return slice(x, begins, limits, steps)


def _sum_of_shifts(
    x: Array,
    kernel: Array,
    lhs_spec: Shape,
    rhs_spec: Shape,
    counts: Shape,
    strides: Shape,
    dilation: Shape,
) -> Array:
    """The convolution of a padded operand, its dimensions in the operand's order."""
    features = lhs_spec[1]
    inputs = shape_of(kernel)[rhs_spec[1]]
    groups = shape_of(x)[features] // inputs
    multiple = shape_of(kernel)[rhs_spec[0]] // groups
    # Result feature m of group g, at position p, is the sum over input features i of the group and
    # positions k of the kernel of
    #   x[g inputs + i, p stride + k dilation] kernel[g multiple + m, i, k].
    # A term reads feature i of every group at once, by a slice whose stride is ``inputs``.
    counts, strides = (groups, *counts), (inputs, *strides)
    total = None
    for term in product(*(range(shape_of(kernel)[d]) for d in rhs_spec[1:])):
        starts = tuple(i * d for i, d in zip(term, (1, *dilation), strict=True))
        part = expand_dims(_shifted(x, lhs_spec[1:], starts, counts, strides), (features + 1,))
        ones = (1,) * len(term)
        scales = reshape(_shifted(kernel, rhs_spec[1:], term, ones, ones), (groups, multiple))
        shape = list(shape_of(part))
        shape[features + 1] = multiple
        scaled = mul(
            broadcast_in_dim(part, shape, range(len(shape))),
            broadcast_in_dim(scales, shape, (features, features + 1)),
        )
        total = scaled if total is None else add(total, scaled)
    assert total is not None
    shape = list(shape_of(total))
    del shape[features + 1]
    shape[features] = groups * multiple
    return reshape(total, shape)


def _write_sums_of_rows(
    ctx: Lowering, x: Value, y: Value, spec: Shape, counts: Shape, *, strides: Shape, steps: Shape
) -> list[Value]:
    """Write the sums over products of rows of ``y`` and of ``x``, for each shift of ``x``.

    A sum of all elements would add one at a time, in order. A loop over the summed features, and
    over the first of several spatial dimensions, adds rows to rows, in vector instructions; the
    sums of rows, one for each shift, are summed at the end.

    Args:
      x: the padded operand, whose dimensions have the roles of ``spec``: groups with their input
        features, summed features, spatial ones.
      y: the cotangent, in the same order; in the first role the groups with their results.
      counts: the number of input features of a group, and of shifts in each spatial dimension,
        which are ``steps`` apart.
      strides: the distance in ``x`` of what neighbours in ``y`` are multiplied by.
    """
    groups, features, *spatial = spec
    loops = [features, *spatial[: len(spatial) > 1]]  # the dimensions that are looped over
    lengths = [y.shape[d] for d in loops]
    rows = [d for d in range(len(spec)) if d not in loops]  # the dimensions of a row
    inner = spatial[len(loops) - 1 :]
    inputs, group_count = counts[0], x.shape[groups] // counts[0]
    position = rows.index(groups)
    shape = [y.shape[d] for d in rows]
    shape[position : position + 1] = group_count, y.shape[groups] // group_count
    terms = list(product(*map(range, counts)))

    def row(x: Array, indices: list[Array]) -> Array:
        for d, i in sorted(zip(loops, indices, strict=True), reverse=True):
            x = at_index(x, i, d)
        return x

    def step(i: Array, *values: Array) -> list[Array]:
        *totals, x, y = values
        length = np.int32(lengths[-1])
        indices = [i] if len(loops) == 1 else [div(i, length), rem(i, length)]
        factors = reshape(row(y, indices), shape)
        results = []
        for (feature, *tap), total in zip(terms, totals, strict=True):
            shift = [i * step for i, step in zip(tap, steps, strict=True)]
            first = [
                add(mul(i, np.int32(stride)), np.int32(start))
                for i, stride, start in zip(indices[1:], strides, shift, strict=False)
            ]
            outer = len(first)
            part = _shifted(
                row(x, [indices[0], *first]),
                (position, *(rows.index(d) for d in inner)),
                (feature, *shift[outer:]),
                (group_count, *(lengths_of_y[d] for d in inner)),
                (inputs, *strides[outer:]),
            )
            part = expand_dims(part, (position + 1,))
            results.append(
                add(total, mul(broadcast_in_dim(part, shape, range(len(shape))), factors))
            )
        return results

    lengths_of_y = y.shape
    start = ctx.constant(0, ShapedArray(tuple(shape), x.dtype))
    totals = write_loop(ctx, prod(lengths), step, [start] * len(terms), [x, y])
    others = tuple(d for d in range(len(shape)) if d not in (position, position + 1))
    return [traced(lambda total: reduce_sum(total, others))(ctx, total) for total in totals]
