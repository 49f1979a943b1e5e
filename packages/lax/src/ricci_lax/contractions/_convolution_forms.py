"""Forms of convolution: plain, transposed, patches, and local kernels."""

from collections.abc import Sequence
from math import prod
from operator import index

import numpy as np

from ricci_ir import Array, ArrayLike, DTypeLike, public
from ricci_lax.elementwise import add, convert_element_type, eq
from ricci_lax.reductions._window_shape import dilated
from ricci_lax.shapes._rearranging import rev
from ricci_lax.structure import broadcast, broadcasted_iota, reshape, transpose
from ricci_lax.structure._operand_types import array_aval, shape_of

from . import _convolution_shape as convolution_shape
from ._convolution import conv_general_dilated
from ._dot import dot_general
from ._precision import PrecisionLike

__all__ = ["conv", "conv_general_dilated_local", "conv_general_dilated_patches", "conv_transpose"]
__all__ += ["conv_with_general_padding"]


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """``conv_general_dilated`` with dimensions in the order ``NCHW``, ``OIHW``, ``NCHW``.

    Args:
      lhs, rhs, window_strides, padding, precision, preferred_element_type: as for
        ``conv_general_dilated``; ``padding`` is the name of one.

    Returns:
      An array of batch, features and spatial dimensions.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> images, kernels = np.ones((2, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)
      >>> lax.conv(images, kernels, (1, 1), "VALID").shape
      (2, 4, 6, 6)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """``conv`` with any padding, and with dilations.

    Args:
      lhs, rhs, window_strides, padding: as for ``conv_general_dilated``.
      lhs_dilation, rhs_dilation, precision: as for ``conv_general_dilated``.
      preferred_element_type: as for ``conv_general_dilated``.

    Returns:
      An array of batch, features and spatial dimensions.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> images, kernels = np.ones((2, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)
      >>> lax.conv_with_general_padding(images, kernels, (1, 1), ((1, 1), (0, 0)), None, None).shape
      (2, 4, 8, 6)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_default_transposed = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: convolution_shape.ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """The transposed ("fractionally strided") convolution.

    Args:
      lhs: the batch, of rank ``n + 2``.
      rhs: the kernels, of the same rank and dtype.
      strides: the factor by which each spatial dimension grows.
      padding: ``"SAME"`` or ``"VALID"`` to invert the shape of a convolution with that padding,
        or low and high padding of the spread input for each spatial dimension.
      rhs_dilation: the distance of the kernels' elements.
      dimension_numbers: see ``conv_general_dilated``; by default features come last.
      transpose_kernel: whether to flip the kernels and swap their features, so that this is the
        gradient of a convolution with the same kernels.
      precision, preferred_element_type: see ``conv_general_dilated``.
      use_consistent_padding: whether explicit padding is that of the convolution that this
        transposes, rather than for the spread input.

    Returns:
      An array whose spatial sizes are about ``strides`` times those of ``lhs``; with ``"SAME"``
      exactly.

    Raises:
      ValueError: if there is no default for the rank, or the padding's name is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> x, kernel = np.ones((1, 4, 4, 3), np.float32), np.ones((3, 3, 3, 5), np.float32)
      >>> lax.conv_transpose(x, kernel, (2, 2), "SAME").shape
      (1, 8, 8, 5)
    """
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    if dimension_numbers is None:
        if len(lhs_shape) not in _default_transposed:
            raise ValueError(
                f"conv_transpose: arrays of rank {len(lhs_shape)} have no default layout; give "
                "dimension_numbers."
            )
        dimension_numbers = _default_transposed[len(lhs_shape)]  # pyright: ignore
    numbers = convolution_shape.conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    spatial = numbers.rhs_spec[2:]
    dilation = (1,) * len(spatial) if rhs_dilation is None else tuple(map(index, rhs_dilation))
    kernel = [dilated(rhs_shape[d], r) for d, r in zip(spatial, dilation, strict=True)]
    if isinstance(padding, str):
        if padding in ("SAME", "VALID"):
            padding = [
                convolution_shape.transposed_padding(k, s, padding)
                for k, s in zip(kernel, strides, strict=False)
            ]
    elif use_consistent_padding:
        # A convolution with padding p and a kernel of size k, dilation included, has as transpose
        # one of the spread operand with padding k - 1 - p.
        padding = [
            (k - 1 - low, k - 1 - high) for k, (low, high) in zip(kernel, padding, strict=True)
        ]
    # The transpose of a convolution reverses its kernel in space, and exchanges its features.
    if transpose_kernel:
        for d in spatial:
            rhs = rev(rhs, (d,))
        order = list(range(len(rhs_shape)))
        out_features, in_features = numbers.rhs_spec[:2]
        order[out_features], order[in_features] = in_features, out_features
        rhs = transpose(rhs, order)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(spatial),
        padding,
        strides,
        rhs_dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@public
def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: convolution_shape.ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The patches of an array that a convolution's kernels apply to, as features of the result.

    Args:
      lhs: the images.
      filter_shape: the size of a patch in each spatial dimension.
      window_strides, padding, lhs_dilation, rhs_dilation: as for ``conv_general_dilated``.
      dimension_numbers, precision, preferred_element_type: as for ``conv_general_dilated``.

    Returns:
      An array with ``features * prod(filter_shape)`` features, the patch's position changing
      fastest.

    Raises:
      TypeError: if ``filter_shape`` does not have one size for each spatial dimension, or the ranks
        or dimension numbers do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> images = np.ones((2, 3, 8, 8), np.float32)
      >>> lax.conv_general_dilated_patches(images, (3, 3), (1, 1), "VALID").shape
      (2, 27, 6, 6)
    """
    lhs_shape = shape_of(lhs)
    filter_shape = tuple(map(index, filter_shape))
    if len(lhs_shape) < 2:
        raise TypeError(
            f"conv_general_dilated_patches: lhs of shape {lhs_shape} lacks a batch or a feature "
            "dimension."
        )
    numbers = convolution_shape.conv_dimension_numbers(lhs_shape, lhs_shape, dimension_numbers)
    features, size = lhs_shape[numbers.lhs_spec[1]], prod(filter_shape)
    dtype = array_aval(lhs).dtype
    rows = add(broadcasted_iota(np.int32, (size, size), 0), np.int32(0))
    columns = broadcasted_iota(np.int32, (size, size), 1)
    # The kernels are unit vectors: kernel i of a feature copies element i of its window.
    unit = broadcast(convert_element_type(eq(rows, columns), dtype), (features,))
    kernels = reshape(unit, (features * size, 1, *filter_shape))
    # The kernels have output features, input features and space in this order.
    order = tuple(np.argsort(numbers.rhs_spec).tolist())
    return conv_general_dilated(
        lhs,
        transpose(kernels, order),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: convolution_shape.ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with separate kernels at each position of the result.

    Args:
      lhs: the images.
      rhs: the kernels: they have ``features * prod(filter_shape)`` input features, their spatial
        dimensions have the result's sizes.
      window_strides, padding: as for ``conv_general_dilated``.
      filter_shape: the size of a kernel in each spatial dimension.
      lhs_dilation, rhs_dilation, dimension_numbers, precision: as for ``conv_general_dilated``.

    Returns:
      An array like that of ``conv_general_dilated``.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> images = np.ones((2, 3, 8, 8), np.float32)
      >>> kernels = np.ones((4, 27, 6, 6), np.float32)
      >>> lax.conv_general_dilated_local(images, kernels, (1, 1), "VALID", (3, 3)).shape
      (2, 4, 6, 6)
    """
    numbers: convolution_shape.ConvDimensionNumbers = convolution_shape.conv_dimension_numbers(
        shape_of(lhs), shape_of(rhs), dimension_numbers
    )
    pair = precision if isinstance(precision, tuple) else (precision, precision)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        precision=None if pair[0] is None else (pair[0], pair[0]),  # pyright: ignore
    )
    lhs_spec, rhs_spec, out_spec = numbers
    # Each position has a separate kernel: the positions are batch dimensions of a product of
    # patches and kernels.
    contracting = ((out_spec[1],), (rhs_spec[1],))
    product = dot_general(
        patches, rhs, (contracting, (out_spec[2:], rhs_spec[2:])), precision=precision
    )
    # The product has the spatial dimensions, then the batch, then the features.
    count = len(out_spec) - 2
    order = (count, count + 1, *range(count))
    return transpose(product, tuple(order[i] for i in np.argsort(out_spec)))
