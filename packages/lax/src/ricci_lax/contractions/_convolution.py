"""Convolutions: ``conv_general_dilated`` with its transposes and batches."""

from collections.abc import Sequence
from operator import index

import numpy as np

import ricci_ir as ir
from ricci_autodiff import bilinear
from ricci_ir import Array, ArrayLike, DTypeLike, FactorMap, Shape, ShapedArray
from ricci_lax.elementwise import add, complex, convert_element_type, imag, real, sub
from ricci_lax.elementwise._factories import real_part
from ricci_lax.reductions._window_shape import Padding, dilated, dilated_shape
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._rearranging import rev
from ricci_lax.shapes._slicing import slice_in_dim
from ricci_lax.structure._broadcasting import zeros_of
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_lax.structure._reshaping import reshape
from ricci_lax.structure._resharding import resolved_by
from ricci_stablehlo import Lowering, Value, signature, traced, write_pad

from ._convolution_shape import (
    NAME,
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    canonical_convolution,
    conv_aval,
    spatial_sizes,
)
from ._features_last import convolve_features_last, is_in_other_order
from ._matrix_convolutions import is_product, multiply_matrices
from ._native_convolutions import write_by_kernel
from ._precision import CanonicalPrecision, DotAlgorithm, PrecisionLike, canonicalize_precision
from ._single_features import convolve_rows, has_single_features
from ._small_groups import write_small_groups
from ._volumes import convolve_planes, has_volumes

__all__ = ["conv_general_dilated", "conv_general_dilated_p"]

# So many groups may be convolved one by one on CPUs, each by an operation of its own, and arrays
# must have so many elements that it pays.
_MOST_GROUPS = 64
_LEAST_SIZE = 4096

# Splitting and merging dimensions


def _merge(x: Array, source: int, target: int) -> Array:
    """Move a dimension in front of another (counted without it) and merge the two."""
    shape = shape_of(x)
    order = [d for d in range(len(shape)) if d != source]
    size = shape[source] * shape[order[target]]
    sizes = [shape[d] for d in order]
    sizes[target] = size
    order.insert(target, source)
    return reshape(x, sizes, order)


def _split(x: Array, dim: int, outer: int) -> Array:
    """Split a dimension in two, the first of the given size."""
    shape = shape_of(x)
    inner = shape[dim] // outer if outer else 0
    return reshape(x, (*shape[:dim], outer, inner, *shape[dim + 1 :]))


def _regrouped(x: Array, groups: int, source: int, target: int) -> Array:
    """Move the groups in one dimension to another.

    The dimension ``source`` of size ``g * n`` becomes ``n``; ``target`` of size ``m`` becomes
    ``g * m``.
    """
    split = _split(x, source, groups)
    return _merge(split, source, target)


# The transposes


def _swapped(spec: Sequence[int]) -> tuple[int, ...]:
    """A layout with its first two dimensions exchanged."""
    return (spec[1], spec[0], *spec[2:])


def _converted(x: Array, dtype: DTypeLike) -> Array:
    return x if array_aval(x).dtype == dtype else convert_element_type(x, dtype)


def _transpose_lhs(
    ct: Array,
    lhs: ShapedArray,
    rhs: Array,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: object,
) -> Array:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    spatial = rhs_spec[2:]
    # The cotangent is convolved with the reversed kernel. Strides and the dilation of the operand
    # exchange their roles, and the paddings are such that the sizes are those of the operand.
    window = dilated_shape(spatial_sizes(rhs_spec, shape_of(rhs)), rhs_dilation)
    pads = []
    for size, spread, width, count, stride, (low, _) in zip(
        spatial_sizes(lhs_spec, lhs.shape),
        lhs_dilation,
        window,
        spatial_sizes(out_spec, shape_of(ct)),
        window_strides,
        padding,
        strict=True,
    ):
        before = width - low - 1
        after = dilated(size, spread) + width - 1 - dilated(count, stride) - before
        pads.append((before, after))
    groups = feature_group_count
    if batch_group_count > 1:
        groups = batch_group_count
    # A grouped kernel has the groups in its output features. Those of the transposed kernel are the
    # input features of this one: the groups move there.
    if groups > 1:
        rhs = _regrouped(rhs, groups, rhs_spec[0], rhs_spec[1])
    ct_dtype = array_aval(ct).dtype
    result = conv_general_dilated_p.bind(
        ct,
        _converted(rev(rhs, spatial), ct_dtype),
        window_strides=lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        **params,
    )
    if batch_group_count > 1:
        result = _regrouped(result, batch_group_count, lhs_spec[1], lhs_spec[0])
    return _converted(result, lhs.dtype)


def _transpose_rhs(
    ct: Array,
    lhs: Array,
    rhs: ShapedArray,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: object,
) -> Array:
    if 0 in shape_of(ct):
        return zeros_of(rhs)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    # The operand is convolved with the cotangent in place of the kernel. Strides and the dilation
    # of the kernel exchange their roles; the sums go over the batch.
    window = dilated_shape(spatial_sizes(rhs_spec, rhs.shape), rhs_dilation)
    pads = []
    for size, spread, width, count, stride, (low, _) in zip(
        spatial_sizes(lhs_spec, shape_of(lhs)),
        lhs_dilation,
        window,
        spatial_sizes(out_spec, shape_of(ct)),
        window_strides,
        padding,
        strict=True,
    ):
        high = dilated(count, stride) + width - 1 - dilated(size, spread) - low
        pads.append((low, high))
    ct_dtype = array_aval(ct).dtype
    numbers = ConvDimensionNumbers(_swapped(lhs_spec), _swapped(out_spec), _swapped(rhs_spec))
    # Groups of features become groups of the batch, and the reverse.
    result = conv_general_dilated_p.bind(
        _converted(lhs, ct_dtype),
        ct,
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=numbers,
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        **params,
    )
    return _converted(result, rhs.dtype)


# Batching: the new dimension is merged into the batch or the features


def _conv_batch(
    axis,
    args,
    dims,
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: object,
) -> tuple[Array, int]:
    (lhs, rhs), (lhs_dim, rhs_dim), size = args, dims, axis.size
    lhs_spec, rhs_spec, out_spec = dimension_numbers

    def conv(lhs, rhs, feature_groups=feature_group_count, batch_groups=batch_group_count):
        return conv_general_dilated_p.bind(
            lhs,
            rhs,
            dimension_numbers=dimension_numbers,
            feature_group_count=feature_groups,
            batch_group_count=batch_groups,
            **params,
        )

    # Examples that share the kernel are a larger batch.
    if rhs_dim is None:
        lhs = _merge_inside(lhs, lhs_dim, lhs_spec[0], batch_group_count)
        return _split(conv(lhs, rhs), out_spec[0], size), out_spec[0]
    # Examples that share the operand have kernels for further features of the result.
    if lhs_dim is None:
        groups = feature_group_count * batch_group_count
        out = conv(lhs, _merge_inside(rhs, rhs_dim, rhs_spec[0], groups))
        if groups > 1:
            # The features of the result are ordered by group, then by example: the groups move
            # inside.
            out = _split(_split(out, out_spec[1], groups), out_spec[1] + 1, size)
            return _merge(out, out_spec[1], out_spec[1] + 1), out_spec[1]
        return _split(out, out_spec[1], size), out_spec[1]
    # Each example is a separate group.
    grouped_by_batch = batch_group_count > 1
    lhs = _merge(lhs, lhs_dim, lhs_spec[0 if grouped_by_batch else 1])
    rhs = _merge(rhs, rhs_dim, rhs_spec[0])
    if grouped_by_batch:
        out = conv(lhs, rhs, batch_groups=batch_group_count * size)
    else:
        out = conv(lhs, rhs, feature_groups=feature_group_count * size)
    return _split(out, out_spec[1], size), out_spec[1]


def _merge_inside(x: Array, source: int, target: int, groups: int) -> Array:
    """Like ``_merge``, but the groups in ``target`` stay outermost."""
    if groups == 1:
        return _merge(x, source, target)
    split = _split(x, target + (source <= target), groups)
    merged = _merge(split, source + (target < source), target + 1)
    return _merge(merged, target, target)


# Lowering


def _dimension_text(spec: Sequence[int], letters: str) -> str:
    """An operand's dimensions in StableHLO: letters, and numbers for the spatial ones."""
    names = dict(zip(spec, [*letters, *map(str, range(len(spec) - 2))], strict=True))
    return f"[{', '.join(names[d] for d in range(len(spec)))}]"


def _window_text(name: str, values: Sequence[int | tuple[int, int]]) -> str:
    items = ", ".join(str(list(v)) if isinstance(v, tuple) else str(v).lower() for v in values)
    return f"{name} = [{items}]"


def _conv_lower(ctx: Lowering, lhs: Value, rhs: Value, **params) -> Value:
    if 0 in (*lhs.shape, *rhs.shape, *ctx.out.shape):  # empty sums, which StableHLO rejects
        return ctx.constant(0, ctx.out)
    if ir.issubdtype(lhs.dtype, np.complexfloating):
        return traced(_complex_conv)(ctx, lhs, rhs, **params)
    result = None
    if ctx.platform == "cpu" and _is_large(ctx, [lhs, rhs]):
        result = _write_for_cpu(ctx, lhs, rhs, **params)
    return _write_conv(ctx, lhs, rhs, **params) if result is None else result


def _write_for_cpu(ctx: Lowering, lhs: Value, rhs: Value, **params) -> Value | None:
    """Write a form that XLA's CPU backend computes faster than a convolution, if there is one."""
    if is_product(lhs, rhs, ctx.out, **params):
        return traced(multiply_matrices)(ctx, lhs, rhs, **params)
    result = write_by_kernel(ctx, lhs, rhs, **params)
    groups = params["feature_group_count"] * params["batch_group_count"]
    if result is None and groups > 1:
        result = write_small_groups(ctx, lhs, rhs, **params)
    if result is not None:
        return result
    if 1 < groups <= _MOST_GROUPS:
        return traced(_conv_by_groups)(ctx, lhs, rhs, **params)
    if has_volumes(lhs, rhs, ctx.out, **params):
        return traced(convolve_planes)(ctx, lhs, rhs, **params)
    if has_single_features(lhs, rhs, ctx.out, **params):
        return traced(convolve_rows)(ctx, lhs, rhs, **params)
    if is_in_other_order(lhs, **params):
        return traced(convolve_features_last)(ctx, lhs, rhs, **params)
    return None


def _is_large(ctx: Lowering, operands: Sequence[Value]) -> bool:
    """Tell whether arrays on one device are so large that a larger module is worth its while."""
    avals = [*(x.aval for x in operands), ctx.out]
    if ctx.module.num_partitions > 1 or not all(ir.is_static_shape(x.shape) for x in avals):
        return False
    return max(x.size for x in avals) >= _LEAST_SIZE


def _write_conv(
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
) -> Value:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    if not all(map(ir.is_static_shape, padding)):
        lhs = _padded(ctx, lhs, lhs_spec, padding, lhs_dilation)
        padding, lhs_dilation = ((0, 0),) * len(padding), (1,) * len(padding)
    window = ", ".join(
        [
            _window_text("stride", window_strides),
            _window_text("pad", padding),
            _window_text("lhs_dilate", lhs_dilation),
            _window_text("rhs_dilate", rhs_dilation),
            _window_text("reverse", [False] * len(window_strides)),
        ]
    )
    names = ["DEFAULT", "DEFAULT"]
    if isinstance(precision, tuple) and not isinstance(precision, DotAlgorithm):
        names = [p.name for p in precision]
    config = ", ".join(f"#stablehlo<precision {name}>" for name in names)
    (result,) = ctx.append(
        "stablehlo.convolution",
        f"({lhs}, {rhs}) dim_numbers = "
        f"{_dimension_text(lhs_spec, 'bf')}x{_dimension_text(rhs_spec, 'oi')}->"
        f"{_dimension_text(out_spec, 'bf')}, window = {{{window}}}",
        ctx.outs,
        signature([lhs, rhs], ctx.outs),
        annotations=f"batch_group_count = {batch_group_count} : i64, "
        f"feature_group_count = {feature_group_count} : i64, precision_config = [{config}]",
    )
    return result


def _padded(ctx: Lowering, lhs: Value, spec: Shape, padding: Padding, dilation: Shape) -> Value:
    """Pad an operand explicitly: symbolic padding, and dilation between its elements."""
    config = [(0, 0, 0)] * len(lhs.shape)
    shape = list(lhs.shape)
    for d, (low, high), gap in zip(spec[2:], padding, dilation, strict=True):
        config[d] = low, high, gap - 1
        shape[d] = low + high + dilated(shape[d], gap)
    zero = ctx.constant(0, ShapedArray((), lhs.dtype))
    return write_pad(ctx, lhs, zero, config, lhs.aval.resized(tuple(shape)))


def _complex_conv(
    x: Array, y: Array, *, preferred_element_type: np.dtype | None, **params: object
) -> Array:
    """Convolve complex arrays by three real convolutions instead of four, after Gauss."""
    dtype = preferred_element_type
    if dtype is not None:
        dtype = real_part(dtype)

    def conv(a: Array, b: Array) -> Array:
        return conv_general_dilated_p.bind(a, b, preferred_element_type=dtype, **params)

    x_real, x_imag, y_real, y_imag = real(x), imag(x), real(y), imag(y)
    first = conv(add(x_real, x_imag), y_real)
    second = conv(x_real, sub(y_imag, y_real))
    third = conv(x_imag, add(y_real, y_imag))
    return complex(sub(first, third), add(first, second))


def _conv_by_groups(
    x: Array,
    y: Array,
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: object,
) -> Array:
    """Convolve each group alone: XLA's CPU backend computes groups one element at a time."""
    groups = feature_group_count * batch_group_count
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    operands = x, y
    dims = lhs_spec[feature_group_count > 1], rhs_spec[0]
    sizes = [shape_of(a)[d] // groups for a, d in zip(operands, dims, strict=True)]

    def conv(i: int) -> Array:
        parts = [
            slice_in_dim(a, i * size, (i + 1) * size, 1, d)
            for a, d, size in zip(operands, dims, sizes, strict=True)
        ]
        return conv_general_dilated_p.bind(
            *parts,
            dimension_numbers=dimension_numbers,
            feature_group_count=1,
            batch_group_count=1,
            **params,
        )

    return concatenate([conv(i) for i in range(groups)], out_spec[1])


def _conv_factors(
    lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: ConvDimensionNumbers, **params: object
) -> FactorMap:
    """The sharding factors: batches and the result's features may be sharded."""
    numbers = dimension_numbers
    batch, features = 0, 1
    dims = range(lhs.ndim)
    of_result = {numbers.out_spec[0]: batch, numbers.out_spec[1]: features}
    return FactorMap(
        (
            tuple(batch if i == numbers.lhs_spec[0] else None for i in dims),
            tuple(features if i == numbers.rhs_spec[0] else None for i in dims),
        ),
        (tuple(of_result.get(i) for i in dims),),
    )


conv_general_dilated_p: ir.Primitive = ir.define(
    "conv_general_dilated",
    sharding=ir.factors(_conv_factors),
    abstract_eval=conv_aval,
    **bilinear(_transpose_lhs, _transpose_rhs),
    batch=_conv_batch,
    lower=_conv_lower,
    checkify=checks_nan,
)


@ir.public
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: object = None,
) -> Array:
    """Convolve a batch of arrays with a bank of kernels (which are not flipped).

    Args:
      lhs: the batch, of rank ``n + 2``.
      rhs: the kernels, of the same rank and dtype.
      window_strides: the step in each of the ``n`` spatial dimensions.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or low and high padding for each
        spatial dimension.
      lhs_dilation, rhs_dilation: the distance of the elements, by default 1; with the first, the
        convolution is a transposed one.
      dimension_numbers: the order of dimensions: strings such as ``("NHWC", "HWIO", "NHWC")``,
        a ``ConvDimensionNumbers``, or ``None`` for ``("NCHW", "OIHW", "NCHW")``.
      feature_group_count, batch_group_count: the number of groups of features, or of the batch,
        that are convolved with separate kernels.
      precision: see ``dot_general``.
      preferred_element_type: the dtype of the result, by default the operands'.
      out_sharding: the sharding of the result.

    Returns:
      An array in the order of dimensions of ``dimension_numbers``, by default batch,
      features and spatial dimensions, of dtype ``preferred_element_type`` or the operands'.

    Raises:
      TypeError: if ranks, dtypes or dimension numbers do not fit.
      ValueError: if sizes do not fit the groups, or a named padding is used with
        ``lhs_dilation``.

    Example:
      Edges of an image with the channels last, found by a kernel that takes the difference of
      neighbours:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> image = jnp.array([[0.0, 0.0, 5.0, 5.0]]).reshape(1, 1, 4, 1)
      >>> kernel = jnp.array([-1.0, 1.0]).reshape(1, 2, 1, 1)
      >>> numbers = ("NHWC", "HWIO", "NHWC")
      >>> edges = lax.conv_general_dilated(
      ...     image, kernel, (1, 1), "VALID", dimension_numbers=numbers
      ... )
      >>> edges.ravel().tolist()
      [0.0, 5.0, 0.0]

      With one group for each channel (a depthwise convolution) the kernels have one input feature:

      >>> images = jnp.ones((2, 8, 8, 3))
      >>> kernels = jnp.ones((3, 3, 1, 3))
      >>> lax.conv_general_dilated(
      ...     images, kernels, (2, 2), "SAME", dimension_numbers=numbers, feature_group_count=3
      ... ).shape
      (2, 4, 4, 3)

    Notes:
      By default the channels come before the spatial dimensions, and in the kernels first the
      output features, then the input features.

    See also:
      ``conv``, ``conv_with_general_padding``, ``conv_transpose``; ``reduce_window``, for pooling.

    Source: StableHLO ``convolution``.
    """
    geometry = canonical_convolution(
        shape_of(lhs),
        shape_of(rhs),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
    )
    if preferred_element_type is not None:
        preferred_element_type = ir.explicit_dtype(preferred_element_type, NAME)
    params = {
        **geometry,
        "feature_group_count": index(feature_group_count),
        "batch_group_count": index(batch_group_count),
        "precision": canonicalize_precision(precision),
        "preferred_element_type": preferred_element_type,
    }
    apply = lambda: conv_general_dilated_p.bind(lhs, rhs, **params, out_sharding=None)
    return apply() if out_sharding is None else resolved_by(out_sharding, apply)
