"""Where devices are in a machine: the coordinates of the chips of a TPU slice."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np


def _coords(device: object) -> tuple[int, int, int] | None:
    found = getattr(device, "coords", None)
    if found is None:
        return None
    x, y, z = (*found, 0, 0)[:3] if len(found) < 3 else tuple(found)[:3]
    return x, y, z


def bounds(devices: Sequence[Any]) -> tuple[int, int, int] | None:
    """How many chips there are along x, y and z; ``None`` for devices without coordinates."""
    found = [_coords(device) for device in devices]
    known = [c for c in found if c is not None]
    if not known or len(known) < len(found):
        return None
    x, y, z = (max(axis) - min(axis) + 1 for axis in zip(*known, strict=True))
    return x, y, z


def by_coordinates(devices: Sequence[Any]) -> list[Any]:
    """Devices with coordinates, sorted by z, then y, then x, then the core on the chip."""

    def place(device: object) -> tuple[int, ...]:
        return (*reversed(_coords(device) or ()), _core(device))

    return sorted(devices, key=place)


def _core(device: object) -> int:
    return getattr(device, "core_on_chip", 0)


def physical_grid(devices: Sequence[Any]) -> np.ndarray | None:
    """The devices in a grid by x, y, z and core; ``None`` if they do not fill a box."""
    shape = bounds(devices)
    if shape is None:
        return None
    cores = 1 + max(map(_core, devices))
    if prod(shape) * cores != len(devices):
        return None
    low = [min(axis) for axis in zip(*(_coords(d) or () for d in devices), strict=True)]
    grid = np.full((*shape, cores), None, dtype=object)
    for device in devices:
        place = [c - start for c, start in zip(_coords(device) or (), low, strict=True)]
        grid[(*place, _core(device))] = device
    return None if any(device is None for device in grid.flat) else grid
