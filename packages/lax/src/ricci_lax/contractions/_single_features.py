"""Convolutions of one feature in one dimension by matrix products: for CPUs.

XLA's library for convolutions vectorises over features. With one input and one output feature, the
operand is cut into rows of 32 elements; a row of the result is the sum of the products of some
consecutive rows by square matrices, which hold the kernel's elements along their diagonals.
"""

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, Shape
from ricci_lax.elementwise import add
from ricci_lax.reductions._window_shape import Padding
from ricci_lax.shapes._slicing import pad, slice_in_dim
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._filling import full_like
from ricci_lax.structure._operand_types import shape_of
from ricci_lax.structure._reshaping import reshape
from ricci_lax.structure._transposing import transpose
from ricci_stablehlo import Value

from ._convolution_shape import ConvDimensionNumbers
from ._dot import dot_general
from ._precision import PrecisionLike

_ROW = 32
_LEAST_SIZE = 16384  # of the result
_KERNEL_SIZES = range(8, 513)  # shorter ones are no slower by XLA, longer ones are many products
_FLOATS = (np.dtype("float32"), np.dtype("float64"))


def has_single_features(
    lhs: Value,
    rhs: Value,
    out: ir.ShapedArray,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    **_: object,
) -> bool:
    """Whether a convolution has one feature, one dimension, and a kernel that pays."""
    lhs_spec, rhs_spec, _spec = dimension_numbers
    if len(lhs_spec) != 3 or (window_strides, lhs_dilation, rhs_dilation) != ((1,),) * 3:
        return False
    shapes = (*lhs.shape, *rhs.shape, *out.shape, *padding[0])
    if not ir.is_static_shape(shapes) or lhs.dtype not in _FLOATS or out.dtype != lhs.dtype:
        return False
    features = lhs.shape[lhs_spec[1]], rhs.shape[rhs_spec[0]], rhs.shape[rhs_spec[1]]
    if features != (1, 1, 1) or out.size < _LEAST_SIZE:
        return False
    return rhs.shape[rhs_spec[2]] in _KERNEL_SIZES


def convolve_rows(
    x: Array,
    y: Array,
    *,
    padding: Padding,
    dimension_numbers: ConvDimensionNumbers,
    precision: PrecisionLike,
    **_: object,
) -> Array:
    """The convolution as a sum of matrix products."""
    lhs_spec, _rhs_spec, out_spec = dimension_numbers
    (low, high), zero = padding[0], full_like(x, 0, shape=())
    x = transpose(x, (lhs_spec[0], lhs_spec[2], lhs_spec[1]))
    examples, size, _one = shape_of(x)
    x = reshape(x, (examples, size))
    taps = max(shape_of(y))
    y = reshape(y, (taps,))
    count = size + low + high - taps + 1
    rows, factors = -(-count // _ROW), -(-(taps - 1 + _ROW) // _ROW)
    padded = (rows + factors - 1) * _ROW
    x = reshape(
        pad(x, zero, ((0, 0, 0), (low, padded - low - size, 0))),
        (examples, rows + factors - 1, _ROW),
    )

    # Row b of the matrix is the kernel, b places further right: repeated with a period of one more
    # than the width, it is that without copies.
    width = factors * _ROW
    cycle = pad(y, zero, ((0, width + 1 - taps, 0),))
    cycles = reshape(broadcast_in_dim(cycle, (_ROW, width + 1), (1,)), (_ROW * (width + 1),))
    matrix = reshape(slice_in_dim(cycles, 0, _ROW * width), (_ROW, width))
    total = None
    for i in range(factors):
        product = dot_general(
            slice_in_dim(x, i, i + rows, axis=1),
            slice_in_dim(matrix, i * _ROW, (i + 1) * _ROW, axis=1),
            (((2,), (1,)), ((), ())),
            precision=precision,
        )
        total = product if total is None else add(total, product)
    assert total is not None
    result = slice_in_dim(reshape(total, (examples, rows * _ROW)), 0, count, axis=1)
    roles = dict(zip((out_spec[0], out_spec[2], out_spec[1]), range(3), strict=True))
    return transpose(reshape(result, (examples, count, 1)), [roles[d] for d in range(3)])
