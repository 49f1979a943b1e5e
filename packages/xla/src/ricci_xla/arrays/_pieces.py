"""The shards of an array, as single-device arrays."""

from collections.abc import Callable

from ricci_xla.devices._registration import shown_to_jaxlib

from ._array_impl import ArrayImpl

__all__ = ["parts"]


def parts(array: ArrayImpl) -> list[ArrayImpl]:
    """The shards of an array on the devices of this process, in the order of the sharding."""
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
    """Call a function of jaxlib that creates single-device arrays and their types itself.

    It looks up our types each time, and would import JAX if it is installed.
    """
    with shown_to_jaxlib():
        return call()
