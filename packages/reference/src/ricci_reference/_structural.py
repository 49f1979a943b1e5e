"""Rules of the operations that join, split, pad and contract arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ricci_lax.authoring import threefry2x32_numpy

from ._elementwise import convert
from ._widening import Rule, widen


def pad(x: np.ndarray, value: ArrayLike, config: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """``x`` with padding ``(low, high, interior)`` along each dimension; negative ones crop."""
    for axis, (low, high, interior) in enumerate(config):
        size = x.shape[axis]
        dilated = size + interior * max(size - 1, 0)
        shape = [*x.shape[:axis], max(dilated + low + high, 0), *x.shape[axis + 1 :]]
        result = np.empty(shape, x.dtype)
        result[...] = value
        positions = np.arange(size) * (interior + 1) + low
        inside = (positions >= 0) & (positions < shape[axis])
        before = (slice(None),) * axis
        result[(*before, positions[inside])] = x[(*before, inside)]
        x = result
    return x


def dot_general(
    x: np.ndarray,
    y: np.ndarray,
    *,
    dimension_numbers: tuple[Any, ...],
    preferred_element_type: np.dtype | None,
    **params: Any,
) -> np.ndarray:
    """The product of arrays, computed in the wider of the operands' and the preferred dtype."""
    (x_contracting, y_contracting), (x_batch, y_batch) = dimension_numbers
    wide_x, wide_y = widen(x), widen(y)
    natural = np.result_type(wide_x, wide_y)
    dtype = natural if preferred_element_type is None else preferred_element_type
    if natural.kind in "iub" and np.dtype(dtype).kind in "iu" or natural.kind == "b":
        natural = np.promote_types(natural, dtype)
    x, y = wide_x.astype(natural), wide_y.astype(natural)
    x_free = [d for d in range(x.ndim) if d not in (*x_contracting, *x_batch)]
    y_free = [d for d in range(y.ndim) if d not in (*y_contracting, *y_batch)]
    batch = [x.shape[d] for d in x_batch]
    shape = [*batch, *(x.shape[d] for d in x_free), *(y.shape[d] for d in y_free)]
    x_sizes = [int(np.prod([x.shape[d] for d in dims])) for dims in (x_free, x_contracting)]
    columns = int(np.prod([y.shape[d] for d in y_free]))
    x = x.transpose(*x_batch, *x_free, *x_contracting).reshape(*batch, *x_sizes)
    y = y.transpose(*y_batch, *y_contracting, *y_free).reshape(*batch, x_sizes[1], columns)
    return np.matmul(x, y).reshape(shape)


def _dot_general(x: np.ndarray, y: np.ndarray, **params: Any) -> np.ndarray:
    product = dot_general(x, y, **params)
    preferred = params["preferred_element_type"]
    if preferred is None:
        preferred = x.dtype if x.dtype == y.dtype else product.dtype
    return convert(product, preferred)


structural_rules: dict[str, Rule] = {
    "dot_general": _dot_general,
    "pad": lambda x, value, *, padding_config, **params: pad(x, value, padding_config),
    "rev": lambda x, *, dimensions, **params: np.flip(x, dimensions),
    "stack": lambda *xs, axis, **params: np.stack(xs, axis),
    "threefry2x32": lambda *words, **params: threefry2x32_numpy(*words),
    "threefry2x32_xor": lambda *words, **params: np.bitwise_xor(*threefry2x32_numpy(*words)),
    "tile": lambda x, *, reps, **params: np.tile(x, reps),
    "unstack": lambda x, *, axis, **params: list(np.moveaxis(x, axis, 0)),
}
