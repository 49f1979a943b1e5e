"""The type of a convolution: checks of its operands, and the dtypes of its result."""

import numpy as np

from ricci_ir import Shape, ShapedArray, issubdtype
from ricci_lax.reductions._window_shape import Padding, dilated_shape

from ._convolution_shape import ConvDimensionNumbers, conv_shape_tuple, spatial_sizes
from ._precision import CanonicalPrecision

NAME = "conv_general_dilated"


def _check_groups(
    lhs: ShapedArray,
    rhs: ShapedArray,
    numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
) -> None:
    for field, count in (
        ("feature_group_count", feature_group_count),
        ("batch_group_count", batch_group_count),
    ):
        if count <= 0:
            raise ValueError(f"{NAME}: {field}={count}, but there must be at least one group.")
    if feature_group_count > 1 and batch_group_count > 1:
        raise ValueError(
            f"{NAME}: feature_group_count={feature_group_count} and "
            f"batch_group_count={batch_group_count} are both above 1. Group by features or "
            "by batch, not by both."
        )
    lhs_features = lhs.shape[numbers.lhs_spec[1]]
    if lhs_features % feature_group_count:
        raise ValueError(
            f"{NAME}: the {lhs_features} input features of lhs do not split into "
            f"feature_group_count={feature_group_count} equal groups."
        )
    rhs_features = rhs.shape[numbers.rhs_spec[1]]
    if lhs_features // feature_group_count != rhs_features:
        raise ValueError(
            f"{NAME}: rhs takes {rhs_features} input features, but each group of lhs has "
            f"{lhs_features} // {feature_group_count}. Check dimension_numbers and "
            "feature_group_count."
        )
    batch = lhs.shape[numbers.lhs_spec[0]]
    if batch % batch_group_count:
        raise ValueError(
            f"{NAME}: a batch of {batch} does not split into "
            f"batch_group_count={batch_group_count} equal groups."
        )
    out_features = rhs.shape[numbers.rhs_spec[0]]
    for field, count in (
        ("feature_group_count", feature_group_count),
        ("batch_group_count", batch_group_count),
    ):
        if out_features % count:
            raise ValueError(
                f"{NAME}: the {out_features} output features of rhs do not split into "
                f"{field}={count} equal groups."
            )


def conv_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: CanonicalPrecision,
    preferred_element_type: np.dtype | None,
    out_sharding,
) -> ShapedArray:
    if lhs.ndim != rhs.ndim or lhs.ndim < 2:
        raise TypeError(
            f"{NAME}: lhs has rank {lhs.ndim} and rhs has rank {rhs.ndim}. Both need one "
            "rank, of 2 or more (batch, features, then space)."
        )
    if lhs.dtype != rhs.dtype:
        raise TypeError(
            f"{NAME}: lhs is {lhs.dtype} and rhs is {rhs.dtype}. Convert one with astype."
        )
    count = lhs.ndim - 2
    for field, values in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if len(values) != count:
            raise ValueError(
                f"{NAME}: {field} has {len(values)} numbers for {count} spatial dimensions. "
                "Give one for each."
            )
        if any(value <= 0 for value in values):
            raise ValueError(f"{NAME}: {field}={values} holds a number below 1.")
    numbers = dimension_numbers
    _check_groups(lhs, rhs, numbers, feature_group_count, batch_group_count)
    sizes = dilated_shape(spatial_sizes(numbers.lhs_spec, lhs.shape), lhs_dilation)
    window = dilated_shape(spatial_sizes(numbers.rhs_spec, rhs.shape), rhs_dilation)
    shape = conv_shape_tuple(
        (lhs.shape[numbers.lhs_spec[0]], lhs.shape[numbers.lhs_spec[1]], *sizes),
        (rhs.shape[numbers.rhs_spec[0]], rhs.shape[numbers.rhs_spec[1]], *window),
        window_strides,
        padding,
        batch_group_count,
    )
    shape = tuple(size for _, size in sorted(zip(numbers.out_spec, shape, strict=True)))
    if preferred_element_type is not None:
        _check_preferred(lhs.dtype, preferred_element_type)
        return ShapedArray(shape, preferred_element_type)
    return ShapedArray(shape, lhs.dtype, lhs.weak_type and rhs.weak_type)


def _check_preferred(dtype: np.dtype, preferred: np.dtype) -> None:
    """Raise ``TypeError`` unless results of operands of ``dtype`` can have the preferred one."""
    kinds = next((k for kind, k in _RESULT_KINDS.items() if issubdtype(dtype, kind)), None)
    if kinds is None:
        return
    if not any(issubdtype(preferred, kind) for kind in kinds):
        raise TypeError(
            f"{NAME}: preferred_element_type={preferred} is of another kind than the operands' "
            f"dtype, {dtype}. Convert the result with astype."
        )
    if preferred.itemsize < dtype.itemsize:
        raise TypeError(
            f"{NAME}: preferred_element_type={preferred} is narrower than the operands' dtype, "
            f"{dtype}. Request one at least as wide."
        )


_RESULT_KINDS: dict[type, tuple[type, ...]] = {
    np.signedinteger: (np.signedinteger, np.floating),
    np.unsignedinteger: (np.integer, np.floating),
    np.floating: (np.floating,),
    np.complexfloating: (np.complexfloating,),
}
