"""The device that a kernel sends to, as its number in the mesh."""

import enum
from collections.abc import Mapping
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_numpy as jnp

from ._remote_copies import MeshAxes

__all__ = ["DeviceIdType"]

type DeviceId = ir.ArrayLike | tuple[ir.ArrayLike, ...] | Mapping[Any, ir.ArrayLike] | None


class DeviceIdType(enum.Enum):
    """Names of devices: by the position in the mesh, or by the number."""

    MESH = "mesh"
    LOGICAL = "logical"


def device_number(name: str, device_id: DeviceId, kind: DeviceIdType) -> tuple[MeshAxes, ir.Array]:
    """The axes of the mesh around a kernel, and the number of a device in row-major order.

    Args:
      name: the operation's name, for messages.
      device_id: the number; or by ``MESH`` the position along each axis as a tuple, that along the
        single axis, or a dict of positions, where the others are those of this device.
      kind: ``MESH`` or ``LOGICAL``.

    Raises:
      ValueError: outside of a mesh, or if the axes are not those of the mesh.
    """
    axes = _axes()
    names = [axis for axis, _ in axes]
    if not axes:
        raise ValueError(
            f"{name}: the kernel runs on one device. Call it in a function that shard_map maps."
        )
    if kind is DeviceIdType.LOGICAL:
        return axes, jnp.asarray(device_id, np.int32)  # pyright: ignore[reportArgumentType]
    if isinstance(device_id, Mapping):
        positions: dict[Any, Any] = dict(device_id)
    else:
        parts = device_id if isinstance(device_id, tuple | list) else (device_id,)
        if len(parts) != len(names):
            raise ValueError(
                f"{name}: device_id has {len(parts)} positions, and the mesh has the axes "
                f"{tuple(names)}. Give one for each, or a dict by axis."
            )
        positions = dict(zip(names, parts, strict=True))
    unknown = [axis for axis in positions if axis not in names]
    if unknown:
        raise ValueError(
            f"{name}: device_id names the axis {unknown[0]!r}, and the mesh has the axes "
            f"{tuple(names)}."
        )
    # Row-major: the position along the last axis is the fastest digit.
    number: Any = np.int32(0)
    for axis, size in axes:
        position = positions[axis] if axis in positions else ir.axis_position.call((axis,))
        number = number * np.int32(size) + jnp.asarray(position, np.int32)
    return axes, jnp.asarray(number, np.int32)


def _axes() -> MeshAxes:
    """The axes of the mesh in scope; those of grids and of batches are not among them."""
    sizes = ir.axis_sizes.value
    mesh = ir.current_mesh.value
    if mesh is None:
        return ()
    return tuple([(axis, int(sizes[axis])) for axis in mesh.axis_names if axis in sizes])
