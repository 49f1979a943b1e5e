"""Indexing of sharded arrays without gathering them.

XLA gathers the whole operand of a ``dynamic_slice`` along a sharded dimension. Of a ``gather`` of
single positions each device looks up those in its shard, and only the result is exchanged. Jaxprs
have ``dynamic_slice`` nevertheless: in a loop over a sharded dimension, gathering the operand once
is faster than an exchange in each step.
"""

from collections.abc import Sequence

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite


def is_sharded(x: Array) -> bool:
    """Whether devices hold different parts of an array; uncommitted arrays are on one device."""
    return getattr(x, "_committed", False) and not x.sharding.is_fully_replicated


def _looked_up(x: Array, start: ArrayLike, form: tuple, axis: int) -> Array:
    """The elements of a window along one dimension, which is not removed, by ``gather``."""
    span, stride, is_reversed, _ = form
    steps = np.arange(0, span, stride, dtype=np.int32)
    steps = steps[::-1] if is_reversed else steps
    # Basic indexing has moved the start, so that the whole window is inside.
    positions = lax.add(
        lax.broadcast(lax.convert_element_type(start, np.int32), (len(steps), 1)), steps[:, None]
    )
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(d for d in range(x.ndim) if d != axis),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = tuple(1 if d == axis else n for d, n in enumerate(x.shape))
    return lax.gather(x, positions, numbers, sizes, mode="promise_in_bounds")


@composite("getitem")
def sharded_windows(x: Array, *starts: ArrayLike, forms: tuple) -> Array:
    """Windows of an array, in the forms of ``_basic_indexing``."""
    remaining = iter(starts)
    axis = 0
    for form in (f for f in forms if f is not None):
        span, stride, is_reversed, is_squeezed = form
        # Windows of a whole dimension have no start among the operands.
        if is_squeezed or span != x.shape[axis]:
            x = _looked_up(x, next(remaining), form, axis)
        elif stride != 1:
            x = _looked_up(x, np.int32(0), form, axis)
        elif is_reversed:
            x = lax.rev(x, (axis,))
        axis += 1
    return _with_dimensions(x, forms)


def _with_dimensions(x: Array, forms: Sequence[tuple | None]) -> Array:
    """Remove the dimensions of ints and add those of ``None``."""
    squeezed = [d for d, f in enumerate(f for f in forms if f is not None) if f[3]]
    x = lax.squeeze(x, squeezed) if squeezed else x
    result_forms = [form for form in forms if form is None or not form[3]]
    added = [d for d, form in enumerate(result_forms) if form is None]
    return lax.expand_dims(x, added) if added else x
