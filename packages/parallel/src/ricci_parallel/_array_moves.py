"""Report to ``ricci_ir`` the arrays that the compiler gathers without a request of the program."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import ArrayMove, Jaxpr, array_moves
from ricci_xla import Traced, devices_of, is_spread, jit


@array_moves.provide
def find_moves(
    jaxpr: Jaxpr, fun: Callable[..., Any], arrays: Sequence[Any], traced: Traced | None
) -> Sequence[ArrayMove]:
    """Return the involuntary collectives of a call. One device has none."""
    from .reports import communication_of  # noqa: PLC0415 - lazy: few programs need it

    if traced is None and is_spread(jaxpr, arrays):
        traced = jit(fun).trace(*arrays)
    if traced is None or len(devices_of(traced)) == 1:
        return ()
    return communication_of(traced).involuntary
