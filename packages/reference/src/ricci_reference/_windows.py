"""Rules of the operations on windows: reductions, selection and scatter, and convolution."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ricci_ir import Jaxpr, Primitive
from ricci_lax import ConvDimensionNumbers

from ._elementwise import convert
from ._jaxprs import fold, run_jaxpr_numpy
from ._structural import pad
from ._widening import Rule, highest, lowest, widen, widened


def windows(
    x: np.ndarray,
    value: ArrayLike,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[Sequence[int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> np.ndarray:
    """All windows of a padded array, as an array of shape ``(*counts, *window_dimensions)``."""
    edges = zip(padding, base_dilation, strict=True)
    x = pad(x, value, [(low, high, base - 1) for (low, high), base in edges])
    spans = zip(window_dimensions, window_dilation, strict=True)
    reach = [max((n - 1) * step + 1, 0) for n, step in spans]
    if any(n > whole for n, whole in zip(reach, x.shape, strict=True)):
        counts = [
            max((whole - n) // stride + 1, 0)
            for whole, n, stride in zip(x.shape, reach, window_strides, strict=True)
        ]
        return np.empty((*counts, *window_dimensions), x.dtype)
    # Strides step over the positions of windows, dilations over the elements of each window.
    everywhere = np.lib.stride_tricks.sliding_window_view(x, reach)
    steps = (*window_strides, *window_dilation)
    return everywhere[tuple(slice(None, None, step) for step in steps)]


def _in_rows(array: np.ndarray) -> np.ndarray:
    """Windows with the elements of each window flattened into the last dimension."""
    count = array.ndim // 2
    return array.reshape(*array.shape[:count], int(np.prod(array.shape[count:])))


def _windowed(ufunc: np.ufunc, identity: Callable[[np.dtype], complex]) -> Rule:
    def rule(x: np.ndarray, **window: Any) -> np.ndarray:
        start = np.array(identity(x.dtype)).astype(x.dtype)
        rows = _in_rows(windows(x, start, **window))
        return ufunc.reduce(rows, axis=-1, dtype=x.dtype, initial=start)

    return widened(rule)


def _reduce_window(
    *operands: np.ndarray, jaxpr: Jaxpr, consts: Sequence[np.ndarray], **window: Any
) -> list[np.ndarray]:
    count = len(operands) // 2
    arrays, inits = operands[:count], operands[count:]
    rows = [_in_rows(windows(x, init, **window)) for x, init in zip(arrays, inits, strict=True)]
    return fold(jaxpr, consts, inits, rows)


def _worst(select_prim: Primitive, dtype: np.dtype) -> complex:
    """The padding value that is selected only in a window of padding."""
    return lowest(dtype) if select_prim.name in ("ge", "gt") else highest(dtype)


def _chosen(select_prim: Primitive, rows: np.ndarray) -> np.ndarray:
    """The index of the selected element of each row; the first among equals."""
    return (np.argmax if select_prim.name in ("ge", "gt") else np.argmin)(rows, axis=-1)


def _select_and_gather_add(
    tangents: np.ndarray, x: np.ndarray, *, select_prim: Primitive, **window: Any
) -> np.ndarray:
    # A tangent is taken from where its window of the operand has the selected element.
    rows = _in_rows(windows(x, _worst(select_prim, x.dtype), **window))
    values = _in_rows(windows(tangents, 0, **window))
    chosen = _chosen(select_prim, rows)[..., np.newaxis]
    return np.take_along_axis(values, chosen, -1)[..., 0]


def _scattered(
    source: np.ndarray,
    x: np.ndarray,
    choose: Callable[[np.ndarray], int | np.ndarray],
    worst: ArrayLike,
    window: dict[str, Any],
) -> list[tuple[tuple[Any, ...], np.generic]]:
    """The elements of ``source``, each with the position in ``x`` that its window selects."""
    ones = (1,) * x.ndim
    sizes = (window["window_dimensions"], window["window_strides"], window["padding"], ones, ones)
    rows = _in_rows(windows(x, worst, *sizes))
    # The same windows over the flat positions in ``x``; padding has position -1.
    positions = np.arange(x.size).reshape(x.shape)
    places = _in_rows(windows(positions, -1, *sizes))
    pairs = []
    for place in np.ndindex(source.shape):
        position = places[place][choose(rows[place])]
        if position >= 0:
            pairs.append((np.unravel_index(position, x.shape), source[place]))
    return pairs


def _select_and_scatter_add(
    source: np.ndarray, x: np.ndarray, *, select_prim: Primitive, **window: Any
) -> np.ndarray:
    choose = lambda row: _chosen(select_prim, row)
    result = np.zeros_like(x)
    for place, value in _scattered(source, x, choose, _worst(select_prim, x.dtype), window):
        result[place] += value
    return result


def _select_and_scatter(
    x: np.ndarray,
    source: np.ndarray,
    init: np.ndarray,
    *,
    select_jaxpr: Jaxpr,
    select_consts: Sequence[np.ndarray],
    scatter_jaxpr: Jaxpr,
    scatter_consts: Sequence[np.ndarray],
    **window: Any,
) -> np.ndarray:
    def choose(row: np.ndarray) -> int:
        best = 0
        for i in range(1, len(row)):
            if not run_jaxpr_numpy(select_jaxpr, [*select_consts, row[best], row[i]])[0]:
                best = i
        return best

    result = np.full_like(x, init)
    for place, value in _scattered(source, x, choose, init, window):
        result[place] = run_jaxpr_numpy(scatter_jaxpr, [*scatter_consts, result[place], value])[0]
    return result


def _conv_general_dilated(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: np.dtype | None,
    **params: Any,
) -> np.ndarray:
    dtype = lhs.dtype if preferred_element_type is None else preferred_element_type
    x = widen(lhs).transpose(dimension_numbers.lhs_spec)
    kernel = widen(rhs).transpose(dimension_numbers.rhs_spec)
    if x.dtype.kind in "iu" and preferred_element_type is not None:
        x, kernel = x.astype(dtype), kernel.astype(dtype)
    features_out, features_in = kernel.shape[:2]
    wholes = (1, 1)
    parts = windows(
        x,
        0,
        (1, 1, *kernel.shape[2:]),
        (*wholes, *window_strides),
        ((0, 0), (0, 0), *map(tuple, padding)),
        (*wholes, *lhs_dilation),
        (*wholes, *rhs_dilation),
    )
    # The shape becomes (batch, features, windows, elements of a window).
    spatial = parts.shape[2 : x.ndim]
    elements = int(np.prod(kernel.shape[2:]))
    parts = parts.reshape(*x.shape[:2], int(np.prod(spatial)), elements)
    groups = feature_group_count * batch_group_count
    weights = kernel.reshape(groups, features_out // groups, features_in, elements)
    if batch_group_count > 1:
        parts = parts.reshape(groups, x.shape[0] // groups, *parts.shape[1:])
    else:
        parts = parts.reshape(x.shape[0], groups, features_in, *parts.shape[2:]).swapaxes(0, 1)
    # Each group of input features is multiplied with the kernels of its output features, and summed
    # over features and window elements.
    result = np.einsum("gnipk,goik->ngop", parts, weights)
    result = result.reshape(len(result), features_out, *spatial)
    return convert(result.transpose(np.argsort(dimension_numbers.out_spec)), dtype)


window_rules: dict[str, Rule] = {
    "conv_general_dilated": _conv_general_dilated,
    "reduce_window": _reduce_window,
    "reduce_window_max": _windowed(np.maximum, lowest),
    "reduce_window_min": _windowed(np.minimum, highest),
    "reduce_window_sum": _windowed(np.add, lambda dtype: 0),
    "select_and_gather_add": widened(_select_and_gather_add),
    "select_and_scatter": _select_and_scatter,
    "select_and_scatter_add": widened(_select_and_scatter_add),
}
