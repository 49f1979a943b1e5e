"""Learning, while a program is compiled, how XLA lays out the values in it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_stablehlo import Module
from ricci_xla.arrays._mesh import Mesh
from ricci_xla.arrays._sharding import GSPMDSharding, single_device_sharding
from ricci_xla.devices._jaxlib import runtime

from ._compiled import named_by_tiles

__all__ = [
    "ShardingInspector",
    "undivided",
]


class ShardingInspector:
    """Passes on the sharding of a value in a program; it must live until that is compiled.

    Args:
      module: the program's.
      ndim: the rank of the value.
      tell: takes the sharding.
    """

    __slots__ = ("config", "handler")

    def __init__(self, module: Module, ndim: int, tell: Callable[[Any], None]):
        devices = tuple(module.devices)
        mesh = _mesh_of(module, devices)

        def handler(tiles: Any) -> None:
            tell(named_by_tiles(GSPMDSharding(runtime.DeviceList(devices), tiles), mesh, ndim))

        self.handler = handler
        self.config: bytes = runtime.encode_inspect_sharding_callback(handler)


def _mesh_of(module: Module, devices: Sequence[Any]) -> Mesh | None:
    """The program's mesh, if it has one over all of its devices."""
    for axes in module.meshes:
        sizes = [size for _, size in axes]
        if np.prod(sizes) == len(devices):
            return Mesh(np.array(devices, object).reshape(sizes), tuple(n for n, _ in axes))
    return None


def undivided(module: Module) -> Any:
    """The sharding of every value in a program for one device."""
    return single_device_sharding(module.devices[0])
