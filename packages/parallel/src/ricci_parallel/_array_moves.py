"""Tells ``ricci_ir`` which arrays the compiler gathers though the program does not ask for it."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ricci_ir import ArrayMove, Jaxpr, array_moves
from ricci_xla import Traced, devices_of, is_spread, jit


def find_moves(
    jaxpr: Jaxpr, fun: Callable[..., Any], arrays: Sequence[Any], traced: Traced | None
) -> Sequence[ArrayMove]:
    """The involuntary collectives of a call. A call on one device has none, and is not compiled."""
    if traced is None and is_spread(jaxpr, arrays):
        traced = jit(fun).trace(*arrays)
    if traced is None or len(devices_of(traced)) == 1:
        return ()
    reports = import_module("ricci_parallel.reports")  # few programs need it
    return reports.communication_of(traced).involuntary


array_moves.register(find_moves)
