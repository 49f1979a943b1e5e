"""Convolutions of floats by a native kernel: for CPUs.

The kernel reads operands whose spatial dimensions are the innermost ones in memory, in either order
of the two others. XLA copies operands of other layouts.
"""

from math import prod

import ricci_ir as ir
from ricci_ir import Shape
from ricci_lax.reductions._window_shape import Padding
from ricci_stablehlo import Lowering, Value, native_kernel

from ._convolution_shape import ConvDimensionNumbers, spatial_sizes
from ._precision import CanonicalPrecision


def write_by_kernel(
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
    precision: CanonicalPrecision,
    **_: object,
) -> Value | None:
    """Write a convolution as a call of the native kernel.

    Returns:
      The result, or None where there is no kernel, or another form is faster.
    """
    out, (lhs_spec, rhs_spec, out_spec) = ctx.out, dimension_numbers
    if not 3 <= len(lhs_spec) <= 5 or not (lhs.dtype == rhs.dtype == out.dtype):
        return None
    kernel = native_kernel(ctx, "convolution", out, 0)
    if kernel is None or not all(map(ir.is_static_shape, (lhs.shape, rhs.shape, *padding))):
        return None
    groups = feature_group_count * batch_group_count
    if not (_is_plain(lhs_spec) and _is_plain(out_spec)):
        # XLA copies what it convolves without groups to an order with the features last, too.
        if groups == 1 or rhs.shape[rhs_spec[1]] > _MOST_COPIED_FEATURES:
            return None
    window, sizes = spatial_sizes(rhs_spec, rhs.shape), spatial_sizes(out_spec, out.shape)
    features = rhs.shape[rhs_spec[1]], rhs.shape[rhs_spec[0]] // groups
    if prod(window) > prod(sizes):
        pays = _pays_over_window(prod(window))
    else:
        reach = sizes[-1] + (window[-1] - 1) * rhs_dilation[-1] // window_strides[-1]
        pays = {*lhs_dilation} == {1} and _pays_over_result(features, sizes[-1] / reach)
    if not pays:
        return None
    numbers = {
        "lhs_spec": lhs_spec,
        "rhs_spec": rhs_spec,
        "out_spec": out_spec,
        "window_strides": window_strides,
        "low": [low for low, _high in padding],
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
    }
    return ctx.custom_call(
        kernel.target,
        [lhs, rhs],
        [out],
        backend_config={
            **{name: f"array<i64: {', '.join(map(str, n))}>" for name, n in numbers.items()},
            "feature_groups": f"{feature_group_count} : i64",
            "batch_groups": f"{batch_group_count} : i64",
        },
        operand_layouts=[_planes_inside(lhs_spec), _planes_inside(rhs_spec)],
        result_layouts=[_planes_inside(out_spec)],
    )[0]


def _is_plain(spec: Shape) -> bool:
    """Whether the spatial dimensions come last, in order."""
    return spec[2:] == tuple(range(2, len(spec)))


# The most input features of a group whose operands are worth copying to the kernel's order.
_MOST_COPIED_FEATURES = 16
# The fewest elements of a window that are worth a load and a store of the sums of their products.
_LEAST_WINDOW = 150
# The share of results among all elements of a row that the kernel computes from which it is faster
# with any number of features, and the most input features with which it is always.
_LEAST_SHARE, _FEW_FEATURES = 0.9, 32
# The fewest output features of a group: with fewer, sums of shifted rows are as fast.
_LEAST_OUTPUTS = 3


def _pays_over_window(size: int) -> bool:
    """Whether sums over the window are faster by the kernel, as for a derivative by the kernels."""
    return size >= _LEAST_WINDOW


def _pays_over_result(features: tuple[int, int], share: float) -> bool:
    """Whether the kernel is faster, which computes several output features at once.

    Args:
      features: the input and output features of a group.
      share: of the results among all elements of a row that the kernel computes.
    """
    inputs, outputs = features
    return outputs >= _LEAST_OUTPUTS and (inputs <= _FEW_FEATURES or share >= _LEAST_SHARE)


def _planes_inside(spec: Shape) -> Shape:
    """The order of dimensions, the innermost first, in which the spatial ones are innermost."""
    first, second, *spatial = spec
    return (*reversed(spatial), max(first, second), min(first, second))
