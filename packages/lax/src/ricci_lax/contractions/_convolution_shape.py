"""The geometry and type of convolutions: dimension numbers, paddings, checks of operands."""

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import Shape, ShapedArray, as_size, exported, issubdtype
from ricci_lax.reductions._window_shape import Padding, dilated_shape, padtype_to_pads, strided

from ._precision import CanonicalPrecision

__all__ = ["ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv_dimension_numbers"]
__all__ += ["conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple"]
__all__ += ["conv_transpose_shape_tuple"]


@exported
class ConvDimensionNumbers(NamedTuple):
    """The roles of the dimensions of the operands and the result of a convolution.

    Attributes:
      lhs_spec: the batch dimension, the feature dimension, then the spatial ones.
      rhs_spec: the output feature dimension, the input feature dimension, then the spatial ones.
      out_spec: the batch dimension, the feature dimension, then the spatial ones.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The layouts that strings such as ``("NHWC", "HWIO", "NHWC")`` describe.

    Args:
      dimension_numbers: three strings: for the left operand, the right one, and the result.

    Returns:
      For each string, the position of each letter, in the order of ``ConvDimensionNumbers``.

    Raises:
      TypeError: if a letter is repeated, ``N`` and ``C`` (``O`` and ``I`` in the second) do not
        each occur once, or the spatial letters differ.

    Example:
      >>> from ricci import lax
      >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
      ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    lhs, rhs, out = dimension_numbers
    letters = ("N", "C"), ("O", "I"), ("N", "C")
    for i, (spec, (a, b)) in enumerate(zip((lhs, rhs, out), letters, strict=True)):
        if not spec.count(a) == spec.count(b) == 1:
            raise TypeError(
                f"convolution: dimension_numbers[{i}]={spec!r} needs one '{a}' and one '{b}'."
            )
        if len(set(spec)) != len(spec):
            raise TypeError(
                f"convolution: dimension_numbers[{i}]={spec!r} repeats a letter; name each "
                "dimension by its own."
            )
    # The kernel's order of spatial dimensions is that of all three layouts.
    spatial = [letter for letter in rhs if letter not in "OI"]
    if not set(lhs) - set("NC") == set(spatial) == set(out) - set("NC"):
        raise TypeError(
            f"convolution: dimension_numbers {tuple(dimension_numbers)} name their spatial "
            "dimensions differently. Use the same letters in all three."
        )

    def permutation(spec: str, first: str, second: str) -> tuple[int, ...]:
        return (spec.index(first), spec.index(second), *map(spec.index, spatial))

    return tuple(permutation(s, a, b) for s, (a, b) in zip((lhs, rhs, out), letters, strict=True))


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """The dimension numbers of a convolution, from strings or the default.

    Args:
      lhs_shape, rhs_shape: the operands' shapes, of one rank.
      dimension_numbers: ``None`` for batch (or output features), features and spatial dimensions
        in this order; three strings of letters, see ``conv_general_permutations``; or a
        ``ConvDimensionNumbers``, which is returned unchanged.

    Returns:
      A ``ConvDimensionNumbers``.

    Raises:
      TypeError: if ranks differ, or the strings do not fit.

    Example:
      >>> from ricci import lax
      >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")).rhs_spec
      (3, 2, 0, 1)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            f"convolution: lhs has rank {len(lhs_shape)} and rhs has rank {len(rhs_shape)}; "
            "give them one rank."
        )
    # The default order is batch, features, spatial dimensions for each of the three.
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(len(lhs_shape)))] * 3)
    if not isinstance(dimension_numbers, list | tuple):
        raise TypeError(
            f"convolution: dimension_numbers is a {type(dimension_numbers).__name__}. Give "
            "three strings, such as ('NHWC', 'HWIO', 'NHWC'), or None."
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            f"convolution: dimension_numbers has {len(dimension_numbers)} entries, not the "
            "three for lhs, rhs and the result."
        )
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError(
            "convolution: dimension_numbers holds "
            f"{', '.join(type(x).__name__ for x in dimension_numbers)}. Describe each "
            "layout by a string, such as 'NHWC'."
        )
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != len(lhs_shape):
            raise TypeError(
                f"convolution: dimension_numbers[{i}] has {len(spec)} letters for arrays of "
                f"shapes {lhs_shape} and {rhs_shape}. Give one for each dimension."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def spatial_sizes(spec: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes of the spatial dimensions of an operand."""
    return tuple(shape[d] for d in spec[2:])


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution of operands in the default order of dimensions.

    Args:
      lhs_shape, rhs_shape: the operands' shapes, dilated.
      strides: the window's step in each spatial dimension.
      pads: low and high padding for each spatial dimension, or the name of a padding.
      batch_group_count: as for ``conv_general_dilated``.

    Returns:
      The shape of the result.

    Raises:
      TypeError: if there is not one padding for each spatial dimension.
      ValueError: if negative padding removes more elements than there are.

    Example:
      >>> from ricci import lax
      >>> lax.conv_shape_tuple((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), "SAME")
      (2, 4, 8, 8)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            f"convolution: padding has {len(pads)} pairs for {len(lhs_shape) - 2} spatial "
            "dimensions. Give one (low, high) for each."
        )
    padded = tuple(n + low + high for n, (low, high) in zip(lhs_shape[2:], pads, strict=True))
    if any(n < 0 for n in padded):
        raise ValueError(
            f"convolution: padding {tuple(pads)} cuts off more than there is of spatial "
            f"sizes {tuple(lhs_shape[2:])}."
        )
    # Along each spatial dimension, the result has an element for every position of the kernel.
    counts = map(strided, padded, rhs_shape[2:], strides)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *counts)


def _permuted(shape: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    return tuple(shape[d] for d in spec)


def _unpermuted(sizes: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    # Sorting by the dimensions' numbers inverts the permutation.
    return tuple(size for _, size in sorted(zip(spec, sizes, strict=True)))


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """The shape of a convolution of operands in any order of dimensions.

    Args:
      lhs_shape, rhs_shape, window_strides, padding, dimension_numbers: as for
        ``conv_general_dilated``, with the operands' shapes.

    Returns:
      The shape of the result.

    Example:
      >>> from ricci import lax
      >>> numbers = ("NHWC", "HWIO", "NHWC")
      >>> lax.conv_general_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (1, 1), "VALID", numbers)
      (2, 6, 6, 4)
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    shape = conv_shape_tuple(
        _permuted(lhs_shape, lhs), _permuted(rhs_shape, rhs), window_strides, padding
    )
    return _unpermuted(shape, out)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """The shape of a transposed convolution.

    Args:
      lhs_shape, rhs_shape, window_strides, padding, dimension_numbers: as for ``conv_transpose``,
        with the operands' shapes.

    Returns:
      The shape of the result.

    Example:
      >>> from ricci import lax
      >>> lax.conv_transpose_shape_tuple((2, 3, 8, 8), (4, 3, 3, 3), (2, 2), "SAME", None)
      (2, 4, 16, 16)
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    sizes, kernel = _permuted(lhs_shape, lhs), _permuted(rhs_shape, rhs)
    if isinstance(padding, str):
        padding = [
            transposed_padding(k, s, padding)
            for k, s in zip(kernel[2:], window_strides, strict=True)
        ]
    # The strides dilate the operand, over which the kernel then moves in steps of 1.
    spread = (*sizes[:2], *dilated_shape(sizes[2:], window_strides))
    shape = conv_shape_tuple(spread, kernel, (1,) * len(window_strides), padding)
    return _unpermuted(shape, out)


def transposed_padding(kernel: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding of a transposed convolution that inverts the shape of a convolution.

    Raises:
      ValueError: if the name is neither ``SAME`` nor ``VALID``.
    """
    # SAME padding makes the result's size ``size * stride``, VALID ``size * stride + max(kernel -
    # stride, 0)``, where it otherwise is ``(size - 1) * stride + total - kernel + 2``.
    if padding == "SAME":
        total = kernel + stride - 2
        low = kernel - 1 if stride > kernel - 1 else -(-total // 2)
    elif padding == "VALID":
        total = kernel + stride - 2 + max(kernel - stride, 0)
        low = kernel - 1
    else:
        raise ValueError(
            f"conv_transpose: padding={padding!r} is unknown; pass 'SAME' or 'VALID', or "
            "give (low, high) pairs."
        )
    return low, total - low


def canonical_convolution(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> dict[str, Any]:
    """The geometry of a convolution in the form of the primitive's parameters.

    Raises:
      TypeError, ValueError: if the dimension numbers or a padding's name do not fit.
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    ones = (1,) * (len(lhs_shape) - 2)
    strides = tuple(map(index, window_strides))
    lhs_dilation = ones if lhs_dilation is None else tuple(map(index, lhs_dilation))
    rhs_dilation = ones if rhs_dilation is None else tuple(map(index, rhs_dilation))
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation):
            raise ValueError(
                "conv_general_dilated: padding by name is not defined with lhs_dilation. Give "
                "(low, high) pairs, or call conv_transpose."
            )
        if any(stride <= 0 for stride in strides):
            raise ValueError(
                f"conv_general_dilated: window_strides={strides} holds a number below 1."
            )
        window = dilated_shape(spatial_sizes(numbers.rhs_spec, rhs_shape), rhs_dilation)
        sizes = spatial_sizes(numbers.lhs_spec, lhs_shape)
        padding = padtype_to_pads(sizes, window, strides, padding)
    return {
        "window_strides": strides,
        "padding": tuple((as_size(low), as_size(high)) for low, high in padding),
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
        "dimension_numbers": numbers,
    }


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
