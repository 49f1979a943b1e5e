"""Convolutions that are products of matrices: for CPUs.

One is pointwise: its kernel has a single position, and mixes the features of each point. The other
is complete: its kernel is as large as the operand, and the result has a single position. The
derivative of either by the kernel is of the other kind. XLA's CPU backend brings the operands of a
convolution to an order of its own, by copies that take longer than the products.
"""

from math import prod

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, Shape
from ricci_lax.elementwise._conversion import convert_element_type
from ricci_lax.reductions._window_shape import Padding
from ricci_lax.structure._broadcasting import broadcast_in_dim, reduce_sum
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_lax.structure._reshaping import reshape
from ricci_lax.structure._transposing import transpose
from ricci_stablehlo import Value

from ._convolution_shape import ConvDimensionNumbers, spatial_sizes
from ._dot import dot_general
from ._precision import CanonicalPrecision, is_symmetric


def is_product(
    lhs: Value,
    rhs: Value,
    out: ir.ShapedArray,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: CanonicalPrecision,
    **_: object,
) -> bool:
    """Whether a convolution of floats is pointwise, in a usual order, or complete."""
    if feature_group_count * batch_group_count > 1 or not is_symmetric(precision):
        return False
    if not ir.issubdtype(lhs.dtype, np.floating) or lhs.dtype.itemsize < 2:
        return False
    if any(pads != (0, 0) for pads in padding) or {*lhs_dilation, *rhs_dilation} - {1}:
        return False
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    window = spatial_sizes(rhs_spec, rhs.shape)
    if {*window} == {1}:
        return not {*window_strides} - {1} and lhs_spec == out_spec and _in_order(lhs_spec)
    is_complete = window == spatial_sizes(lhs_spec, lhs.shape)
    return is_complete and {*spatial_sizes(out_spec, out.shape)} == {1}


def _in_order(spec: Shape) -> bool:
    """Whether the examples come first, the spatial dimensions in order, the features at an end."""
    first, last = tuple(range(len(spec))), len(spec) - 1
    return spec in (first, (0, last, *range(1, last)))


def multiply_matrices(
    x: Array,
    y: Array,
    *,
    dimension_numbers: ConvDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: np.dtype | None,
    **_: object,
) -> Array:
    """Return the convolution as a product."""
    is_pointwise = {*spatial_sizes(dimension_numbers[1], shape_of(y))} == {1}
    multiply = _multiply_points if is_pointwise else _multiply_all
    dtype = preferred_element_type or array_aval(x).dtype
    return multiply(x, y, dimension_numbers, precision, dtype)


def _fits(points: int, *features: int) -> bool:
    """Whether a product for each example costs less than copies for a product of all examples.

    It does where a kernel for each is no larger than twice an example.
    """
    return min(features) <= 2 * points


def _multiply_points(
    x: Array,
    y: Array,
    dimension_numbers: ConvDimensionNumbers,
    precision: CanonicalPrecision,
    dtype: np.dtype,
) -> Array:
    """A pointwise convolution."""
    lhs_spec, rhs_spec, _ = dimension_numbers
    shape, options = shape_of(x), (precision, dtype)
    last = len(shape) - 1
    batch, inputs, *sizes = (shape[d] for d in lhs_spec)
    outputs, points = shape_of(y)[rhs_spec[0]], prod(sizes)
    kernel = reshape(transpose(y, rhs_spec), (outputs, inputs))
    if lhs_spec[1] == last:
        return dot_general(x, kernel, (((last,), (1,)), ((), ())), *options)
    if not _fits(points, inputs, outputs):
        result = dot_general(x, kernel, (((1,), (1,)), ((), ())), *options)
        return transpose(result, (0, last, *range(1, last)))
    # A product for each example leaves the operand and the result in their order.
    kernels = broadcast_in_dim(kernel, (batch, outputs, inputs), (1, 2))
    x = reshape(x, (batch, inputs, points))
    result = dot_general(kernels, x, (((2,), (1,)), ((0,), (0,))), *options)
    return reshape(result, (batch, outputs, *sizes))


def _multiply_all(
    x: Array,
    y: Array,
    dimension_numbers: ConvDimensionNumbers,
    precision: CanonicalPrecision,
    dtype: np.dtype,
) -> Array:
    """A complete convolution."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    batch, inputs, *sizes = (shape_of(x)[d] for d in lhs_spec)
    outputs, points = shape_of(y)[rhs_spec[0]], prod(sizes)
    operands, specs = (x, y), (lhs_spec, rhs_spec)
    if out_spec[0] > out_spec[1]:
        operands, specs = (y, x), (rhs_spec, lhs_spec)
    # In the derivative of a pointwise convolution with the features in front, the examples are the
    # features, and the features the examples.
    derived = (1, 0, *range(2, len(lhs_spec)))
    if specs == (derived, derived) and _fits(points, batch, outputs):
        left, right = (reshape(a, (inputs, shape_of(a)[1], points)) for a in operands)
        numbers = (((2,), (2,)), ((0,), (0,)))
        # Products that are still to be added are not rounded to a narrow type.
        wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
        each = dot_general(left, right, numbers, precision, wide)
        result = convert_element_type(reduce_sum(each, (0,)), dtype)
    else:
        pairs = sorted(zip(specs[0][1:], specs[1][1:], strict=True))
        contracting = tuple(d for d, _ in pairs), tuple(d for _, d in pairs)
        result = dot_general(*operands, (contracting, ((), ())), precision, dtype)
    shape = [1] * len(out_spec)
    shape[out_spec[0]], shape[out_spec[1]] = batch, outputs
    return reshape(result, shape)
