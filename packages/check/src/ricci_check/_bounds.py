"""Indices that are out of bounds whatever the arguments are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci_ir import JaxprEqn

from ._place import Place
from ._values import Value, is_tracked


def check_bounds(place: Place, eqn: JaxprEqn, operands: Sequence[Value]) -> None:
    """Report the known positions of a slice, gather or scatter that lie outside of the array."""
    name = eqn.primitive.name
    shape = operands[0].aval.shape
    if name == "dynamic_slice":
        sizes = eqn.params["slice_sizes"]
        for axis, start in enumerate(operands[1:]):
            _check(place, axis, shape[axis], sizes[axis], _numbers(place, start), "is read")
    elif name == "dynamic_update_slice":
        sizes = operands[1].aval.shape
        for axis, start in enumerate(operands[2:]):
            _check(place, axis, shape[axis], sizes[axis], _numbers(place, start), "is written")
    elif name == "gather":
        dims = eqn.params["dimension_numbers"]
        sizes = eqn.params["slice_sizes"]
        _check_columns(
            place, shape, sizes, dims.start_index_map, operands[1], _gathered(eqn.params["mode"])
        )
    else:
        dims = eqn.params["dimension_numbers"]
        updates = operands[2].aval.shape
        sizes = _window_sizes(dims, shape, updates)
        _check_columns(
            place,
            shape,
            sizes,
            dims.scatter_dims_to_operand_dims,
            operands[1],
            _scattered(eqn.params["mode"]),
        )


def _gathered(mode: Any) -> str:
    return "the fill value is read" if _named(mode, "FILL") else "is read"


def _scattered(mode: Any) -> str:
    return "is written" if _named(mode, "CLIP") else "the update is dropped"


def _named(mode: Any, start: str) -> bool:
    return getattr(mode, "name", str(mode)).startswith(start)


def _window_sizes(dims: Any, shape: Sequence[int], updates: Sequence[int]) -> list[int]:
    """How much of each dimension one update of a scatter writes."""
    given = iter(updates[d] for d in dims.update_window_dims)
    left_out = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    return [1 if d in left_out else next(given) for d in range(len(shape))]


def _check_columns(
    place: Place,
    shape: Sequence[int],
    sizes: Sequence[int],
    axes: Sequence[int],
    indices: Value,
    effect: str,
) -> None:
    if not is_tracked(indices.aval) or (indices.ids is None and indices.known is None):
        return
    numbers = _numbers(place, indices)
    for column, axis in enumerate(axes):
        _check(place, axis, shape[axis], sizes[axis], numbers[column :: len(axes)], effect)


def _numbers(place: Place, x: Value) -> list[int | None]:
    """The elements of an integer array, as far as they are known."""
    if x.known is not None:
        return [int(n) for n in np.ravel(x.known)]
    if x.ids is None:
        return []
    return [place.symbols.number(i) for i in x.ids.ravel().tolist()]


def _check(
    place: Place,
    axis: int,
    size: int,
    window: int,
    numbers: Sequence[int | None],
    effect: str,
) -> None:
    last = size - window
    for n in numbers:
        if n is None or 0 <= n <= last:
            continue
        # A negative index has had the size added to it.
        given = n if n >= 0 else n - size
        nearest = 0 if n < 0 else max(last, 0)
        if window == 1:
            what = f"index {given} is out of bounds for axis {axis} of size {size}"
            clamped = f"element {nearest}"
        else:
            what = f"a slice of {window} elements from {given} leaves axis {axis} of size {size}"
            clamped = f"the slice from {nearest}"
        then = f"{clamped} {effect}" if effect.startswith("is ") else effect
        place.report("RC501", f"{what}: {then}", once=(given, axis, size))
        return
