"""``pmap`` over the devices of several processes, each of which passes its own slices.

The slices of all processes are joined to global arrays, without moving data. The function runs on
those, and each process gets its part of the results.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import ricci_xla as xla
from ricci_ir import Array, ArrayLike, is_extended

from ._global_arrays import (
    global_array_to_host_local_array_impl,
    host_local_array_to_global_array_impl,
)


def devices_of_several_processes(
    chosen: Sequence[xla.Device] | None, backend: Any
) -> tuple[xla.Device, ...] | None:
    """Return the devices that a ``pmap`` runs on; ``None`` if all belong to this process.

    Args:
      chosen: the devices that the user has chosen; by default all of a platform.
      backend: the platform.
    """
    if chosen is None:
        return tuple(xla.devices(backend)) if xla.process_count(backend) > 1 else None
    rank = xla.process_index(backend)
    return None if all(d.process_index == rank for d in chosen) else tuple(chosen)


def check_slices(name: str, size: int, axis_size: int | None, over: Sequence[xla.Device]) -> None:
    """Raise ``ValueError`` unless this process passes a slice for each of its devices.

    Args:
      name: the function's name.
      size: the number of slices that this process passes.
      axis_size: the number of all slices, if the user gave it.
      over: the devices of all processes.
    """
    rank = xla.process_index()
    count = sum(device.process_index == rank for device in over)
    if size != count:
        raise ValueError(
            f"pmap of {name}: the mapped axis has size {size} in this process (rank {rank}), which "
            f"has {count} of the {len(over)} devices. Each process passes a slice for each of its "
            "devices; to run on some of them, or on this process alone, give devices."
        )
    if axis_size is not None and axis_size != len(over):
        raise ValueError(
            f"pmap of {name}: axis_size is {axis_size}, but there are {len(over)} devices in all "
            "processes, with a slice for each."
        )


def joined(
    leaves: Sequence[ArrayLike],
    dims: Sequence[int | None],
    over: Sequence[xla.Device],
    axis: Hashable,
) -> list[Any]:
    """Join this process's slices with those of the others into global arrays."""
    mesh = xla.Mesh(np.array(over, dtype=object), (axis,))
    return [
        host_local_array_to_global_array_impl(x, global_mesh=mesh, pspec=_spec(dim, axis))
        for x, dim in zip(leaves, dims, strict=True)
    ]


def _spec(dim: int | None, axis: Hashable) -> xla.PartitionSpec:
    return xla.PartitionSpec() if dim is None else xla.PartitionSpec(*(None,) * dim, axis)


def part_of_this_process(result: Any) -> Array:
    """Return this process's part of a result."""
    physical = result.physical if is_extended(result.dtype) else result
    place = physical.sharding
    return global_array_to_host_local_array_impl(result, global_mesh=place.mesh, pspec=place.spec)
