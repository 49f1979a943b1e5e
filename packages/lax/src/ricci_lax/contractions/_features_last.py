"""Convolutions with the dimensions in the order of the CPU's library: features last.

XLA's CPU backend transposes operands into that order in a module's entry computation only. In loops
and branches it computes a convolution in any other order, as the derivatives of all are, an element
of the result at a time, which takes ten times as long and more.
"""

import numpy as np

import ricci_ir as ir
from ricci_ir import Array
from ricci_lax.structure._transposing import transpose
from ricci_stablehlo import Value

from ._convolution_shape import ConvDimensionNumbers


def is_in_other_order(
    lhs: Value,
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **_: object,
) -> bool:
    """Whether a convolution of floats in 1-D or 2-D, without groups, has another order."""
    if not ir.issubdtype(lhs.dtype, np.floating) or lhs.dtype.itemsize > 4:
        return False
    rank = len(lhs.shape)
    if rank not in (3, 4) or feature_group_count * batch_group_count > 1:
        return False
    return tuple(dimension_numbers) != tuple(_features_last(rank))


def convolve_features_last(
    x: Array, y: Array, *, dimension_numbers: ConvDimensionNumbers, **params: object
) -> Array:
    """Return the convolution of transposed operands, transposed."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    rank = len(lhs_spec)
    result = ir.primitives["conv_general_dilated"].bind(
        transpose(x, (lhs_spec[0], *lhs_spec[2:], lhs_spec[1])),
        transpose(y, (*rhs_spec[2:], rhs_spec[1], rhs_spec[0])),
        dimension_numbers=_features_last(rank),
        **params,
    )
    roles = dict(zip((out_spec[0], *out_spec[2:], out_spec[1]), range(rank), strict=True))
    return transpose(result, [roles[d] for d in range(rank)])


def _features_last(rank: int) -> ConvDimensionNumbers:
    last, spatial = rank - 1, range(1, rank - 1)
    images = (0, last, *spatial)
    return ConvDimensionNumbers(images, (last, last - 1, *range(rank - 2)), images)
