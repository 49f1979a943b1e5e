"""The pieces of an array that is spread over devices, as arrays of their own."""

from collections.abc import Callable
from typing import Any

from ricci_xla.devices._registration import shown_to_jaxlib

__all__ = [
    "disassemble",
    "parts",
]


def parts(array: Any) -> list[Any]:
    """An array's piece on each device of this process, in the order of the sharding."""
    if array._sharding.num_devices == 1:
        return [array]
    with shown_to_jaxlib():
        return array._arrays


def whole_part(array: Any) -> Any:
    """One of the copies of an array that every device holds whole."""
    if array._sharding.num_devices == 1:
        return array
    with shown_to_jaxlib():
        return array._fully_replicated_shard()


def disassemble(results: Any) -> list[list[Any]]:
    """The results of a run as arrays on single devices: for each result a list over devices."""
    with shown_to_jaxlib():
        return results.disassemble_into_single_device_arrays()


def single_array(make: Callable[[], Any]) -> Any:
    """What ``make`` returns, an array on one device whose type jaxlib works out itself."""
    with shown_to_jaxlib():
        return make()
