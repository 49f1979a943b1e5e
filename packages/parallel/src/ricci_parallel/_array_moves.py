"""Report to ``ricci_ir`` the arrays that the compiler gathers without a request of the program."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ricci_ir import ArrayMove, Jaxpr, array_moves
from ricci_xla import Traced, devices_of, is_spread, jit


@array_moves.provide
def find_moves(
    jaxpr: Jaxpr, fun: Callable[..., Any], arrays: Sequence[Any], traced: Traced | None
) -> Sequence[ArrayMove]:
    """Return the involuntary collectives of a call. One device has none."""
    if traced is None and is_spread(jaxpr, arrays):
        traced = jit(fun).trace(*arrays)
    if traced is None or len(devices_of(traced)) == 1:
        return ()
    reports = import_module("ricci_parallel.reports")  # few programs need it
    return reports.communication_of(traced).involuntary
