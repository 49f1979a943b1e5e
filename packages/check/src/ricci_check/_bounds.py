"""RC501: indices that are out of bounds whatever the arguments are."""

from collections.abc import Sequence

import numpy as np

from ricci_ir import JaxprEqn

from ._positions import Positions
from ._state import AnalysisState
from ._values import Value, is_tracked


def check_bounds(
    state: AnalysisState, eqn: JaxprEqn, operands: Sequence[Value], positions: Positions
) -> None:
    """Report the known positions of a slice, gather or scatter that lie outside of the array."""
    shape = operands[0].aval.shape
    starts = [operands[i] for i in positions.operands]
    for column, axis in enumerate(positions.axes):
        # The positions are one scalar operand for each axis, or one array with a column for each.
        numbers = _numbers(state, starts[column] if len(starts) > 1 else starts[0])
        if len(starts) == 1:
            numbers = numbers[column :: len(positions.axes)]
        _check(state, axis, shape[axis], positions.sizes[axis], numbers, positions.outside)


def _numbers(state: AnalysisState, x: Value) -> list[int | None]:
    """Return an integer array's elements, ``None`` if unknown; empty if it is not tracked."""
    if not is_tracked(x.aval):
        return []
    if x.known is not None:
        return [int(n) for n in np.ravel(x.known)]
    if x.ids is None:
        return []
    return [state.symbols.number(i) for i in x.ids.ravel().tolist()]


def _check(
    state: AnalysisState,
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
        # Indexing adds the size to a negative index; the message shows what the user wrote.
        written = n if n >= 0 else n - size
        nearest = 0 if n < 0 else max(last, 0)
        if window == 1:
            what = f"index {written} is out of bounds for axis {axis} of size {size}"
            clamped = f"element {nearest}"
        else:
            what = f"a slice of {window} elements from {written} leaves axis {axis} of size {size}"
            clamped = f"the slice from {nearest}"
        then = f"{clamped} {effect}" if effect.startswith("is ") else effect
        state.report("RC501", f"{what}: {then}", once=(written, axis, size))
        return
