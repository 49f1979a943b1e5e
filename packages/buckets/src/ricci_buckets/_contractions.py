"""Padding rules of products, of windowed operations and of matrix factorizations.

In a product both operands are masked with zeros along contracted dimensions: zero times the
other operand's padding would be NaN if that is infinite.

A padded square matrix becomes the block-diagonal matrix of itself and an identity. Its Cholesky and
LU factors are those of the two blocks, and so is the solution of a triangular system.
"""

from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, Primitive, ShapedArray, is_symbolic_dim
from ricci_lax import convert_element_type, eq, linalg, select
from ricci_lax.authoring import highest, lowest

from ._dynamic_moves import slice_at
from ._interpreter import PaddingRule, Site
from ._moves import pad_in_front

__all__ = ["contraction_rules", "matrix_rules"]


def _dot_general(site: Site, x: Array, y: Array) -> Array:
    # Only contracted dimensions mix padding into valid elements. Both operands are masked, since 0
    # times a NaN in the other's padding would be NaN.
    summed, _ = site.params["dimension_numbers"]
    operands = [
        site.masked(v, aval, 0, axes) if axes else v
        for v, aval, axes in zip((x, y), site.ins, summed, strict=True)
    ]
    return site.bind(*operands)


def _pad_for_windows(
    site: Site,
    x: Any,
    fill: Any,
    axis: int,
    out: object,
    window: object,
    *,
    low: Any,
    stride: int,
    dilation: int,
    spread: int,
) -> Array:
    """Pad an operand with a fill value to the size that the windows along an axis need.

    Args:
      x: an operand whose padding is the fill value.
      out: the dimension of the result.
      window: the window's size, which may be symbolic.
      low: the number of fill values in front.
      stride, dilation: the distances of windows, and of elements inside one.
      spread: the distance of the operand's elements.
    """
    # The original padding depends on the length; padded to the bucket's size instead, explicitly
    # and in front, the operation itself needs none. Windows behind the valid ones see fill values.
    count = site.extents.size(out)
    reach = (site.extents.size(window) - 1) * dilation + 1
    # The last window starts at (count - 1) * stride; without windows, the array is too small for
    # one.
    padded_size = max((count - 1) * stride + reach, 0) if count else reach - 1
    if is_symbolic_dim(low):
        return pad_in_front(site, x, axis, low, spread - 1, padded_size, fill)
    size = max((x.shape[axis] - 1) * spread + 1, 0)
    edge = (low, padded_size - size - low, spread - 1)
    return lax.pad(x, fill, [edge if i == axis else (0, 0, 0) for i in range(len(x.shape))])


def _convolution(site: Site, x: Array, kernel: Array) -> Array:
    params = site.params
    lhs, rhs, out = params["dimension_numbers"]
    ins, outs = site.ins, site.outs[0]
    groups = params["feature_group_count"], params["batch_group_count"]
    split = [ins[0].shape[lhs[0]], ins[0].shape[lhs[1]], ins[1].shape[rhs[0]], ins[1].shape[rhs[1]]]
    if groups != (1, 1) and any(map(is_symbolic_dim, split)):
        site.refuse(
            "a padded dimension of a convolution is split into groups",
            "pad along a spatial dimension or along one without groups",
        )
    x = site.masked(x, ins[0], 0, lhs[1:])
    kernel = site.masked(kernel, ins[1], 0, rhs[1:])
    padding = list(params["padding"])
    spread = list(params["lhs_dilation"])
    # Zeros of padding are neutral: a convolution sums products.
    zero = x.dtype.type(0)
    for i, axis in enumerate(lhs[2:]):
        low, high = padding[i]
        sizes = ins[0].shape[axis], outs.shape[out[i + 2]], ins[1].shape[rhs[i + 2]], low, high
        if not any(map(is_symbolic_dim, sizes)):
            continue
        x = _pad_for_windows(
            site,
            x,
            zero,
            axis,
            sizes[1],
            sizes[2],
            low=low,
            stride=params["window_strides"][i],
            dilation=params["rhs_dilation"][i],
            spread=spread[i],
        )
        padding[i], spread[i] = (0, 0), 1
    return site.bind(x, kernel, padding=tuple(padding), lhs_dilation=tuple(spread))


def _reduce_window(identity: Any) -> PaddingRule:
    def rule(site: Site, x: Array) -> Any:
        params, aval, outs = site.params, site.ins[0], site.outs[0]
        # The neutral element of the reduction: padding inside of a window then has no effect.
        fill = site.ins[0].dtype.type(identity(aval.dtype))
        x = site.masked(x, aval, fill)
        padding, spread = list(params["padding"]), list(params["base_dilation"])
        for axis, (low, high) in enumerate(padding):
            window = params["window_dimensions"][axis]
            sizes = aval.shape[axis], outs.shape[axis], window, low, high
            if not any(map(is_symbolic_dim, sizes)):
                continue
            if is_symbolic_dim(window):
                site.refuse(
                    f"the window's size {window} along axis {axis} is a length",
                    "reduce over the whole dimension, or use a cumulative operation",
                )
            x = _pad_for_windows(
                site,
                x,
                fill,
                axis,
                outs.shape[axis],
                window,
                low=low,
                stride=params["window_strides"][axis],
                dilation=params["window_dilation"][axis],
                spread=spread[axis],
            )
            padding[axis], spread[axis] = (0, 0), 1
        return site.bind(x, padding=tuple(padding), base_dilation=tuple(spread))

    return rule


def _select_and_scatter_add(site: Site, source: Array, x: Array) -> Array:
    """Add each window's source value at the window's greatest or least element."""
    params = site.params
    outs, aval = site.ins
    # A padding element must never be selected as the greatest (or least) of its window.
    fill = (lowest if params["select_prim"] is lax.ge_p else highest)(aval.dtype)
    fill = aval.dtype.type(fill)
    source, x = site.masked(source, outs, 0), site.masked(x, aval, fill)
    padding, starts = list(params["padding"]), {}
    for axis, (low, high) in enumerate(padding):
        window = params["window_dimensions"][axis]
        sizes = aval.shape[axis], outs.shape[axis], window, low, high
        if any(map(is_symbolic_dim, sizes)):
            stride = params["window_strides"][axis]
            around = {"low": low, "stride": stride, "dilation": 1, "spread": 1}
            x = _pad_for_windows(site, x, fill, axis, outs.shape[axis], window, **around)
            padding[axis], starts[axis] = (0, 0), low
    result = site.bind(source, x, padding=tuple(padding))
    for axis, low in starts.items():
        size = site.extents.size(aval.shape[axis])
        result = slice_at(result, axis, site.extents.length(low), size)
    return result


def _fft(site: Site, x: Array) -> Array:
    count = len(site.params["fft_lengths"])
    if any(map(is_symbolic_dim, site.ins[0].shape[-count:])) or any(
        map(is_symbolic_dim, site.params["fft_lengths"])
    ):
        site.refuse(
            "every coefficient of a Fourier transform depends on the number of elements",
            "transform along a dimension that is not padded, or outside of the bucketed function",
        )
    return site.bind(x)


contraction_rules: dict[Primitive, PaddingRule] = {
    lax.dot_general_p: _dot_general,
    lax.conv_general_dilated_p: _convolution,
    lax.reduce_window_sum_p: _reduce_window(lambda dtype: 0),
    lax.reduce_window_max_p: _reduce_window(lowest),
    lax.reduce_window_min_p: _reduce_window(highest),
    lax.select_and_scatter_add_p: _select_and_scatter_add,
    lax.fft_p: _fft,
}


def _is_padded(aval: ShapedArray) -> bool:
    return any(map(is_symbolic_dim, aval.shape[-2:]))


def _refuse_matrix(site: Site, aval: ShapedArray) -> None:
    site.refuse(
        f"a matrix of type {aval.str_short()} would be decomposed or solved with its padding",
        "pad along a batch dimension, or call it outside of the bucketed function",
    )


def _with_identity(site: Site, x: Array, aval: ShapedArray) -> Array:
    """Replace the padding of matrices by an identity block on the diagonal."""
    # The same symbolic dimension, not only an equal size: the block must end at the diagonal.
    if aval.shape[-2] is not aval.shape[-1]:
        _refuse_matrix(site, aval)
    rows, columns = len(aval.shape) - 2, len(aval.shape) - 1
    mask: Any = site.extents.mask(aval, (rows, columns))
    positions = site.extents.positions
    diagonal = eq(positions(mask.shape, rows), positions(mask.shape, columns))
    return select(mask, x, convert_element_type(diagonal, np.dtype(aval.dtype)))


def _factors(site: Site, x: Array) -> Any:
    (aval,) = site.ins
    return site.bind(_with_identity(site, x, aval) if _is_padded(aval) else x)


def _triangular_solve(site: Site, matrix: Array, b: Array) -> Array:
    aval, right = site.ins
    if _is_padded(aval):
        matrix = _with_identity(site, matrix, aval)
        along = len(right.shape) - (2 if site.params["left_side"] else 1)
        # Zero right-hand sides of the identity block have zero solutions, whatever was in the
        # padding.
        b = site.masked(b, right, 0, (along,))
    return site.bind(matrix, b)


def _batches_only(site: Site, *operands: object) -> Any:
    for aval in site.ins:
        if _is_padded(aval):
            _refuse_matrix(site, aval)
    return site.bind(*operands)


matrix_rules: dict[Primitive, PaddingRule] = {
    linalg.cholesky_p: _factors,
    linalg.lu_p: _factors,
    linalg.triangular_solve_p: _triangular_solve,
    **dict.fromkeys(
        (
            *(linalg.eig_p, linalg.eigh_p, linalg.householder_product_p, linalg.qr_p),
            *(linalg.schur_p, linalg.svd_p, linalg.tridiagonal_solve_p),
        ),
        _batches_only,
    ),
}
