"""Inspect the shardings that XLA chooses for values while it compiles a module."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ricci_stablehlo import Module
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._runtime_types import Device, DeviceList
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import (
    GSPMDSharding,
    HloSharding,
    Sharding,
    SingleDeviceSharding,
)
from ricci_xla.meshes._tiles import named_by_tiles

__all__ = ["ShardingInspector", "undivided"]


class ShardingInspector:
    """Calls a function with the sharding of a value, once XLA has chosen it.

    The inspector must stay alive until the module is compiled.

    Args:
      module: the module that is being written.
      ndim: the rank of the value's buffers.
      callback: called with the sharding.
    """

    __slots__ = ("config", "handler")

    config: bytes
    handler: Callable[[HloSharding], None]

    def __init__(self, module: Module, ndim: int, callback: Callable[[Sharding], None]):
        devices = tuple(module.devices)
        mesh = mesh_of_module(module.meshes, devices)

        def handler(tiles: HloSharding) -> None:
            callback(named_by_tiles(GSPMDSharding(DeviceList(devices), tiles), mesh, ndim))

        self.handler = handler
        self.config = runtime.encode_inspect_sharding_callback(handler)


def mesh_of_module(meshes: Mapping[Any, str], devices: Sequence[Device]) -> Mesh | None:
    """Return a module's mesh over all of its devices, if it has one.

    Args:
      meshes: the axes of the meshes that the module declares.
      devices: its devices.
    """
    for axes in meshes:
        sizes = [size for _, size in axes]
        if axes and np.prod(sizes) == len(devices):
            return Mesh(np.array(devices, object).reshape(sizes), tuple(n for n, _ in axes))
    return None


def undivided(module: Module) -> SingleDeviceSharding:
    """Return the sharding of all values in a module for one device."""
    return single_device_sharding(module.devices[0])
