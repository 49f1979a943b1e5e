"""Coordinates of the chips of a TPU slice, and the physical grid of its devices."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np


def _coords(device: object) -> tuple[int, int, int] | None:
    coords = getattr(device, "coords", None)
    if coords is None:
        return None
    x, y, z = (*coords, 0, 0)[:3] if len(coords) < 3 else tuple(coords)[:3]
    return x, y, z


def bounds(devices: Sequence[Any]) -> tuple[int, int, int] | None:
    """The number of chips along x, y and z, or ``None`` if a device has no coordinates."""
    coords = [c for device in devices if (c := _coords(device)) is not None]
    if not coords or len(coords) < len(devices):
        return None
    x, y, z = (max(axis) - min(axis) + 1 for axis in zip(*coords, strict=True))
    return x, y, z


def by_coordinates(devices: Sequence[Any]) -> list[Any]:
    """Devices with coordinates, sorted by z, then y, then x, then the core on the chip."""

    def sort_key(device: object) -> tuple[int, ...]:
        return (*reversed(_coords(device) or ()), _core(device))

    return sorted(devices, key=sort_key)


def _core(device: object) -> int:
    return getattr(device, "core_on_chip", 0)


def physical_grid(devices: Sequence[Any]) -> np.ndarray | None:
    """The devices in a grid by x, y, z and core, or ``None`` if they do not fill a box."""
    shape = bounds(devices)
    if shape is None:
        return None
    cores = 1 + max(map(_core, devices))
    if prod(shape) * cores != len(devices):
        return None
    low = [min(axis) for axis in zip(*(_coords(d) or () for d in devices), strict=True)]
    grid = np.full((*shape, cores), None, dtype=object)
    for device in devices:
        position = [c - start for c, start in zip(_coords(device) or (), low, strict=True)]
        grid[(*position, _core(device))] = device
    return None if any(device is None for device in grid.flat) else grid
