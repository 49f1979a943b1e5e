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

# The fewest elements of a window over which sums are faster by the kernel, which loads and stores
# them for each example: with few input features in a group, and with more.
_LEAST_WINDOW, _LARGE_WINDOW = 150, 1000
# The most input features with which it is faster, whatever share of the elements that it computes
# are results; that share, from which it is with more; and the most with steps, without groups.
_FEW_FEATURES, _LEAST_SHARE, _FEWEST_FEATURES = 32, 0.9, 8
# The fewest output features of a group: with fewer, sums of shifted rows are as fast.
_LEAST_OUTPUTS = 3
# The fewest columns of a plane that is convolved by a kernel of its own.
_LEAST_COLUMNS = 4
# The most input features of a group whose operands are worth copying to the kernel's order.
_MOST_COPIED_FEATURES = 16


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
    geometry = (window_strides, lhs_dilation, rhs_dilation, dimension_numbers)
    if not _is_faster(lhs, rhs, out, feature_group_count * batch_group_count, *geometry):
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


def _is_faster(
    lhs: Value,
    rhs: Value,
    out: ir.ShapedArray,
    groups: int,
    window_strides: Shape,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
) -> bool:
    """Whether the kernel is faster than the other forms: docs/convolutions.md has their times."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    window, sizes = spatial_sizes(rhs_spec, rhs.shape), spatial_sizes(out_spec, out.shape)
    is_spread = {*lhs_dilation} != {1}
    over_window = prod(window) > prod(sizes)
    is_plain = _is_plain(lhs_spec) and _is_plain(out_spec)
    if is_plain and groups > 1 and {*window_strides, *lhs_dilation, *rhs_dilation} == {1}:
        features = out.shape[out_spec[0]] if over_window else rhs.shape[rhs_spec[1]]
        image, taps = (window, sizes) if over_window else (sizes, window)
        if features == 1 and len(taps) == 2 and taps[0] > 1 and image[1] >= _LEAST_COLUMNS:
            return True
    if over_window:
        # The derivative by kernels: the result has their input features as examples.
        inputs = out.shape[out_spec[0]]
        pays = prod(window) >= (_LEAST_WINDOW if inputs <= _FEW_FEATURES else _LARGE_WINDOW)
        if {*rhs_dilation} != {1}:  # the window strides of the forward convolution
            pays = pays and (groups > 1 or inputs <= _FEWEST_FEATURES)
        is_slow_elsewhere = is_spread
    else:
        inputs, outputs = rhs.shape[rhs_spec[1]], rhs.shape[rhs_spec[0]] // groups
        reach = sizes[-1] + (window[-1] - 1) * rhs_dilation[-1] // window_strides[-1]
        is_few = inputs <= _FEW_FEATURES or sizes[-1] >= _LEAST_SHARE * reach
        if {*window_strides} != {1}:
            is_few = groups > 1 or inputs <= _FEWEST_FEATURES
        pays = is_few and outputs >= _LEAST_OUTPUTS and not is_spread
        is_slow_elsewhere = False
    if not is_plain:
        # XLA, too, copies operands to a layout with the features last where there are no groups.
        is_copied = groups > 1 and 1 < inputs <= _MOST_COPIED_FEATURES
        return pays and (is_copied or is_slow_elsewhere)
    return pays


def _is_plain(spec: Shape) -> bool:
    """Whether the spatial dimensions come last, in order."""
    return spec[2:] == tuple(range(2, len(spec)))


def _planes_inside(spec: Shape) -> Shape:
    """The order of dimensions, the innermost first, in which the spatial ones are innermost."""
    first, second, *spatial = spec
    return (*reversed(spatial), max(first, second), min(first, second))
