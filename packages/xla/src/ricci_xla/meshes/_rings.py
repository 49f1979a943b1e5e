"""Rings of TPU chips: orders in which each chip is wired to the next, and the last to the first.

Small slices of most TPU generations contain a ring through all of their chips, along which
collectives over all devices run fastest. A row of the table is a ring and the slices that use it;
slices without a row are arranged by their axes (``_arrangement``).
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ricci_ir import TupleRecord

from ._coordinates import bounds, by_coordinates

__all__ = ["device_kind_handler_dict"]

type Shape = tuple[int, ...]


class Ring(TupleRecord):
    """An order of devices, for slices that fit.

    Attributes:
      kinds: the kinds of devices.
      fits: ``fits(mesh_shape, chips)`` is whether to use it, by the shape of the mesh and the
        numbers of chips along x, y and z.
      order: the positions of the devices of the ring; a longer list of devices is a row of rings.
      sorted: whether devices are first sorted by coordinates, else taken as they are listed.
    """

    kinds: tuple[str, ...]
    fits: Callable[[Shape, Shape], bool]
    order: tuple[int, ...]
    sorted: bool = True


# Four chips with two cores each: the cores of a chip are next to each other.
_TRAY = (0, 1, 2, 3, 6, 7, 4, 5)
_LITE = ("TPU v5 lite", "TPU v5e", "TPU v6 lite")

_RINGS = (
    # Larger slices are tori of such trays, so that only axes of one tray are rings.
    Ring(
        ("TPU v2", "TPU v3"),
        lambda mesh, chips: prod(mesh) == 8 or (mesh or (0,))[-1] == 8,
        _TRAY,
        sorted=False,
    ),
    Ring(("TPU v2", "TPU v3"), lambda mesh, chips: True, (0,), sorted=False),
    Ring(("TPU v4 lite", "TPU8i"), lambda mesh, chips: prod(mesh) == 4, (0, 1, 3, 2), sorted=False),
    Ring(_LITE, lambda mesh, chips: chips == (2, 2, 1), (0, 1, 3, 2)),
    Ring(_LITE, lambda mesh, chips: prod(chips) == 8, (0, 1, 2, 3, 7, 6, 5, 4)),
    # A mesh of two axes has rows and columns of the square instead.
    Ring(
        _LITE,
        lambda mesh, chips: chips == (4, 4, 1) and max(mesh) == 16,
        (0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4),
    ),
    Ring(("TPU v5", "TPU v5p"), lambda mesh, chips: chips == (2, 2, 2), (0, 1, 3, 2, 6, 7, 5, 4)),
    Ring(
        ("TPU7", "TPU7x"),
        lambda mesh, chips: chips[:2] == (2, 2) and prod(mesh) % 8 == 0,
        _TRAY,
        sorted=False,
    ),
)


def _on_rings(
    kind: str, mesh_shape: Sequence[int], devices: Sequence[Any], **unused: object
) -> np.ndarray | None:
    """Arrange devices of a kind by the rings that they form, or return ``None`` without a row."""
    shape = tuple(mesh_shape)
    chips = bounds(devices)
    for ring in _RINGS:
        if kind in ring.kinds and chips is not None and ring.fits(shape, chips):
            ordered = by_coordinates(devices) if ring.sorted else list(devices)
            size = len(ring.order)
            order = [
                base + position for base in range(0, len(ordered), size) for position in ring.order
            ]
            flat = np.empty(len(ordered), dtype=object)
            flat[:] = [ordered[position] for position in order]
            return flat.reshape(shape)
    return None


# For kinds of devices that have rings: a function of the mesh's shape and the devices that arranges
# them, or returns None to leave that to the general rule.
device_kind_handler_dict: dict[str, Callable[..., np.ndarray | None]] = {
    kind: partial(_on_rings, kind) for ring in _RINGS for kind in ring.kinds
}
