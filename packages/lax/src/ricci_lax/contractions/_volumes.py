"""Convolutions in three dimensions by ones in two: for CPUs.

XLA's CPU backend has a library for two spatial dimensions, and computes with three an element of
the result at a time. Of planes at the kernel's positions along the first spatial dimension, joined
along the features, the convolution is one in two dimensions, whose examples are the planes of the
result.
"""

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, Shape
from ricci_lax.reductions._window_shape import Padding
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._slicing import pad, slice_in_dim
from ricci_lax.structure._filling import full_like
from ricci_lax.structure._operand_types import shape_of
from ricci_lax.structure._reshaping import reshape
from ricci_lax.structure._transposing import transpose
from ricci_stablehlo import Value

from ._convolution_shape import ConvDimensionNumbers

# The joined planes may take so many times the memory of the operand and the result.
_MOST_COPIES = 8
_CHANNELS_LAST = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))


def has_volumes(
    lhs: Value,
    rhs: Value,
    out: ir.ShapedArray,
    *,
    padding: Padding,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **_: object,
) -> bool:
    """Whether a convolution is one of floats in 3-D, without groups, with few enough planes."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    if len(lhs_spec) != 5 or feature_group_count * batch_group_count > 1:
        return False
    if not ir.issubdtype(lhs.dtype, np.floating) or not all(map(ir.is_static_shape, padding)):
        return False
    copied = lhs.aval.size // lhs.shape[lhs_spec[2]] * rhs.shape[rhs_spec[2]]
    joined = copied * out.shape[out_spec[2]]
    return joined <= _MOST_COPIES * max(lhs.aval.size, out.size)


def convolve_planes(
    x: Array,
    y: Array,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    **params: object,
) -> Array:
    """The convolution of volumes as one of planes."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    (low, high), gap = padding[0], lhs_dilation[0] - 1
    x = transpose(x, (lhs_spec[0], *lhs_spec[2:], lhs_spec[1]))
    none = (0, 0, 0)
    x = pad(x, full_like(x, 0, shape=()), (none, (low, high, gap), none, none, none))
    y = transpose(y, (*rhs_spec[3:], rhs_spec[2], rhs_spec[1], rhs_spec[0]))
    *window, depth, inputs, outputs = shape_of(y)
    reach = (depth - 1) * rhs_dilation[0] + 1
    count = (shape_of(x)[1] - reach) // window_strides[0] + 1
    last = (count - 1) * window_strides[0] + 1
    starts = [i * rhs_dilation[0] for i in range(depth)]
    planes = concatenate(
        [slice_in_dim(x, i, i + last, window_strides[0], axis=1) for i in starts], 4
    )
    examples, *sizes, features = shape_of(planes)
    result = ir.primitives["conv_general_dilated"].bind(
        reshape(planes, (examples * count, *sizes[1:], features)),
        reshape(y, (*window, depth * inputs, outputs)),
        window_strides=window_strides[1:],
        padding=padding[1:],
        lhs_dilation=lhs_dilation[1:],
        rhs_dilation=rhs_dilation[1:],
        dimension_numbers=_CHANNELS_LAST,
        **params,
    )
    result = reshape(result, (examples, count, *shape_of(result)[1:]))
    roles = dict(zip((out_spec[0], *out_spec[2:], out_spec[1]), range(5), strict=True))
    return transpose(result, [roles[d] for d in range(5)])
