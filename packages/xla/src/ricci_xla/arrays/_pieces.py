"""The parts of an array on its devices, as single-device arrays."""

from collections.abc import Callable

from ricci_xla.devices._registration import shown_to_jaxlib

from ._array_impl import ArrayImpl

__all__ = [
    "parts",
]


def parts(array: ArrayImpl) -> list[ArrayImpl]:
    """The part of an array on each device of this process, in the order of the sharding."""
    sharding = array._sharding
    if sharding.num_devices == 1:
        return [array] if sharding.is_fully_addressable else []
    with shown_to_jaxlib():
        return array._arrays


def whole_part(array: ArrayImpl) -> ArrayImpl:
    """One copy of a fully replicated array, as a single-device array."""
    if array._sharding.num_devices == 1:
        return array
    with shown_to_jaxlib():
        return array._fully_replicated_shard()


def with_types[R](call: Callable[[], R]) -> R:
    """Call a function of jaxlib that makes single-device arrays and works out their types itself.

    It looks up our types each time, and imports JAX if it is installed and no module shows them.
    """
    with shown_to_jaxlib():
        return call()
