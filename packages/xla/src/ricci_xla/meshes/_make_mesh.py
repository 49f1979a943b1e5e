"""Making meshes: which devices, in which order."""

from collections.abc import Hashable, Sequence
from math import prod
from operator import index

import numpy as np

from ricci_xla.devices._client import devices as all_devices
from ricci_xla.devices._runtime_types import Device

from ._axes import AxisType, checked_names, checked_types
from ._mesh import Mesh

__all__ = [
    "create_device_mesh",
    "make_mesh",
]


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[Hashable],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices, as many as it needs.

    Args:
      axis_sizes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: an ``AxisType`` for each axis; all ``Explicit`` by default: the types of arrays say
        how they are divided over the axis.
      devices: the devices to take from; all of the default platform by default.

    Raises:
      ValueError: if there are too few devices.
    """
    sizes = tuple(map(index, axis_sizes))
    if any(size < 1 for size in sizes):
        raise ValueError(
            f"make_mesh: axis_sizes={sizes}, but the size of an axis is a positive number."
        )
    found = list(all_devices() if devices is None else devices)
    if prod(sizes) > len(found):
        raise ValueError(
            f"a mesh of shape {sizes} needs {prod(sizes)} devices, but there are {len(found)}. "
            "Make it smaller."
        )
    names = checked_names(axis_names, "make_mesh")
    if len(names) != len(sizes):
        raise ValueError(
            f"make_mesh: axis_sizes={sizes} has {len(sizes)} sizes, but axis_names={names} has "
            f"{len(names)} names. Give one name for each size."
        )
    types = checked_types(names, axis_types, AxisType.Explicit, "make_mesh")
    grid = np.array(found[: prod(sizes)], dtype=object).reshape(sizes)
    return Mesh(grid, names, types)


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices for a mesh, in the order in which the runtime lists them.

    Args:
      mesh_shape: the size of each axis.
      devices: the devices to arrange; all of the default platform by default.
      contiguous_submeshes, allow_split_physical_axes: have no effect, since the physical network
        between devices is not considered.

    Raises:
      ValueError: if the sizes do not multiply to the number of devices.
    """
    found = list(all_devices() if devices is None else devices)
    if prod(mesh_shape) != len(found):
        raise ValueError(
            f"create_device_mesh: mesh_shape={tuple(mesh_shape)} needs {prod(mesh_shape)} devices, "
            f"but there are {len(found)}. Pass as many with devices=."
        )
    return np.array(found, dtype=object).reshape(tuple(mesh_shape))
