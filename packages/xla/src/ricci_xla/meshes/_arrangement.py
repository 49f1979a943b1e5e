"""Arranging devices so that neighbours along an axis of a mesh are neighbours in the machine.

The chips of a TPU slice are a torus of up to three physical axes. Collectives over an axis of a
mesh run fastest where the axis is made of whole physical axes, and the more of these the better,
since each brings its own links. So the axes of a mesh, the last one first, are written as products
of physical axes. If that is asked for, physical axes are split: a mesh axis then gets a factor of
one, the minor factors first.

Small slices of most TPU generations contain a ring through all of their chips, along which
collectives over all devices run fastest. A row of the table of rings is a ring and the slices that
use it; slices without a row are arranged by their axes.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from operator import index
from typing import Any

import numpy as np

from ricci_ir import TupleRecord
from ricci_xla.devices import Device
from ricci_xla.devices import devices as all_devices

__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]

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
    # A cube is in the order of its coordinates; the border of a grid of 2 by 4 is a ring.
    Ring(_LITE, lambda mesh, chips: chips == (2, 2, 2), (0, 4, 2, 6, 1, 5, 3, 7)),
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
    # The coordinates of a part of a machine need not start at 0.
    low = [min(axis) for axis in zip(*(_coords(d) or () for d in devices), strict=True)]
    grid = np.full((*shape, cores), None, dtype=object)
    for device in devices:
        position = [c - start for c, start in zip(_coords(device) or (), low, strict=True)]
        grid[(*position, _core(device))] = device
    return None if any(device is None for device in grid.flat) else grid


# For an axis of a mesh, the factor of each physical axis that it consists of.
type _Factors = tuple[int, ...]


# Kinds of devices whose cores count as chips along z.
_CORES_ALONG_Z = ("TPU8i",)


def _divisors(size: int) -> list[int]:
    return [d for d in range(size, 0, -1) if size % d == 0]


def _products(size: int, choices: Sequence[Sequence[int]]) -> Iterator[_Factors]:
    """The ways to write a size as a product of one factor of each list of choices."""
    if not choices:
        if size == 1:
            yield ()
        return
    for factor in choices[0]:
        if size % factor == 0:
            for remainder in _products(size // factor, choices[1:]):
                yield (factor, *remainder)


def _candidates(size: int, left: _Factors, full: _Factors, split: bool) -> list[_Factors]:
    """The ways to make a mesh axis of the remaining factors of the physical axes, best first.

    The best has the largest product of whole physical axes, then the most of them; of equal ones,
    it is the one with more of the first physical axes.
    """
    if split:
        choices = [_divisors(n) for n in left]
    else:
        choices = [(n, 1) if n > 1 else (1,) for n in left]
    products = list(_products(size, choices))

    def rank(factors: _Factors) -> tuple[int, int]:
        whole = [f for f, n in zip(factors, full, strict=True) if f == n and f > 1]
        return prod(whole), len(whole)

    return sorted(products, key=rank, reverse=True)  # a stable sort keeps the first of equals first


def _assign(shape: Sequence[int], physical: _Factors, split: bool) -> list[_Factors] | None:
    """The factors of each axis of a mesh, or ``None`` if the shape cannot be factored.

    Backtracking search from the last axis, which gets the best candidate that leaves the other axes
    a solution.
    """

    # Axes of size 1 aside, a mesh has few axes and a machine at most four, so the search is short.
    def choose(axis: int, left: _Factors) -> list[_Factors] | None:
        if axis < 0:
            return []
        for factors in _candidates(shape[axis], left, physical, split):
            remaining = tuple(n // f for n, f in zip(left, factors, strict=True))
            others = choose(axis - 1, remaining)
            if others is not None:
                return [*others, factors]
        return None

    return choose(len(shape) - 1, physical)


def _laid_out(grid: np.ndarray, shape: Sequence[int], factors: Sequence[_Factors]) -> np.ndarray:
    """The devices of a physical grid, in a grid of a mesh's shape.

    Each physical axis is cut into the factors that the axes of the mesh have of it, then the pieces
    are put in the order of the mesh's axes.
    """
    count = len(shape)
    # Piece (d, axis) of the reshaped grid is dimension d * count + axis. The transposition puts,
    # for each mesh axis, its pieces of all physical axes next to each other, and the reshape merges
    # them.
    pieces = [factors[axis][d] for d in range(grid.ndim) for axis in range(count)]
    order = [d * count + axis for axis in range(count) for d in range(grid.ndim)]
    return grid.reshape(pieces).transpose(order).reshape(tuple(shape))


def arranged(
    shape: tuple[int, ...], devices: Sequence[Any], contiguous: bool = False, split: bool = False
) -> np.ndarray | None:
    """The devices in the best arrangement, or ``None`` if the shape does not fit the machine.

    Args:
      shape: the sizes of the axes.
      devices: as many devices.
      contiguous: whether the blocks of devices that belong to an index of the first axes must each
        be a box of the machine.
      split: whether an axis may be made of a part of a physical axis.
    """
    if not devices or devices[0].platform != "tpu":
        return in_order(shape, devices)
    handler = device_kind_handler_dict.get(devices[0].device_kind)
    if handler is not None:
        ring = handler(shape, devices, contiguous_submeshes=contiguous)
        if ring is not None:
            return ring
    grid = physical_grid(devices)
    if grid is None:
        return None
    if devices[0].device_kind in _CORES_ALONG_Z:
        grid = grid.reshape((*grid.shape[:2], -1, 1))
    # The cores of a chip are the nearest neighbours of all: they are the first physical axis, so
    # that of equal candidates the one with cores is better, and their index varies fastest.
    *machine, cores = grid.shape
    factors = _assign(shape, (cores, *machine), split and not contiguous)
    if factors is None:
        return None
    # Boxes are consecutive if an index along z changes last.
    order = (2, 1, 0, 3) if contiguous else (0, 1, 2, 3)
    placed = [(*chips, core) for core, *chips in factors]
    return _laid_out(grid.transpose(order), shape, [tuple(f[d] for d in order) for f in placed])


def in_order(shape: tuple[int, ...], devices: Sequence[Any]) -> np.ndarray:
    """The devices as they are listed."""
    flat = np.empty(len(devices), dtype=object)
    flat[:] = list(devices)
    return flat.reshape(shape)


def checked_shape(shape: Sequence[int], count: int, function: str, name: str) -> tuple[int, ...]:
    """Check that the sizes of a mesh's axes fit the number of devices, and return them as ints.

    Raises:
      TypeError: if a size is not an integer.
      ValueError: if a size is not positive, or the sizes do not multiply to ``count``.
    """
    sizes = tuple(map(index, shape))
    if any(size < 1 for size in sizes):
        raise ValueError(f"{function}: {name}={sizes}, but the size of an axis is positive.")
    if prod(sizes) != count:
        raise ValueError(
            f"{function}: {name}={sizes} is for {prod(sizes)} devices, but there are {count}. Pass "
            "as many with devices=, or choose sizes that multiply to that."
        )
    return sizes


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices for a mesh, arranged so that collectives along its axes are fast.

    TPUs are arranged by their coordinates; other devices as they are listed.

    Args:
      mesh_shape: the size of each axis. The last axis gets the best-connected devices.
      devices: the devices to arrange; all of the default platform by default.
      contiguous_submeshes: whether the devices of each index of the first axes must be a box of the
        machine, as the devices of a process are.
      allow_split_physical_axes: whether an axis of the mesh may be a part of a physical axis.

    Returns:
      An array of devices of shape ``mesh_shape``.

    Raises:
      ValueError: if the sizes do not multiply to the number of devices, or if these do not fill a
        box of the machine.
      NotImplementedError: if the sizes are not products of sizes of physical axes.

    Example:
      >>> import ricci
      >>> from ricci.experimental.mesh_utils import create_device_mesh
      >>> create_device_mesh((1, 1), ricci.devices()[:1]).shape
      (1, 1)
    """
    available = list(all_devices() if devices is None else devices)
    shape = checked_shape(mesh_shape, len(available), "create_device_mesh", "mesh_shape")
    result = arranged(shape, available, contiguous_submeshes, allow_split_physical_axes)
    if result is None:
        raise _no_arrangement(shape, available, contiguous_submeshes, allow_split_physical_axes)
    return result


def _no_arrangement(
    shape: tuple[int, ...], devices: Sequence[Any], contiguous: bool, split: bool
) -> Exception:
    grid = physical_grid(devices)
    if grid is None:
        return ValueError(
            f"create_device_mesh: the {len(devices)} devices do not fill a box of the machine by "
            "their coordinates, or have none. Pass all devices of a box, or make the Mesh of an "
            "array of your own."
        )
    machine = "x".join(map(str, grid.shape[:3]))
    error = ValueError if contiguous else NotImplementedError
    advice = "" if split or contiguous else " Pass allow_split_physical_axes=True to split them."
    return error(
        f"create_device_mesh: mesh_shape={shape} does not fit the machine, of {machine} chips: "
        "each size must be a product of sizes of its axes, and each of these can be used once; "
        f"(4, 16) fits 4x4x4.{advice}"
    )


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices for a mesh over several slices, connected by a slower network.

    Args:
      mesh_shape: for each axis, its size within a slice.
      dcn_mesh_shape: for each axis, its size over the slices. The axis has the product of both.
      devices: the devices to arrange; all of the default platform by default.
      process_is_granule: whether a slice is the devices of one process, else those of one
        ``slice_index``.
      should_sort_granules_by_key: whether slices are taken in the order of their numbers, else in
        that of ``devices``.
      allow_split_physical_axes: as for ``create_device_mesh``, within a slice.

    Returns:
      An array of devices, each of whose sizes is the product of those in the two shapes.

    Raises:
      ValueError: if devices have no ``slice_index``, or the sizes do not multiply to the number of
        slices or of devices in one.
      NotImplementedError: as for ``create_device_mesh``.

    Example:
      Devices of a TPU pod have a ``slice_index``. On others, ``process_is_granule`` makes a slice
      of each process:

      >>> import ricci
      >>> from ricci.experimental.mesh_utils import create_hybrid_device_mesh
      >>> devices = ricci.devices()[:1]
      >>> create_hybrid_device_mesh((1, 1), (1, 1), devices, process_is_granule=True).shape
      (1, 1)
    """
    available = list(all_devices() if devices is None else devices)
    key = "process_index" if process_is_granule else "slice_index"
    granules: dict[int, list[Any]] = {}
    for device in available:
        if not hasattr(device, key):
            raise ValueError(
                f"create_hybrid_device_mesh: the device {device} has no {key}. Pass "
                "process_is_granule=True if a slice is what one process has."
            )
        granules.setdefault(getattr(device, key), []).append(device)
    keys = sorted(granules) if should_sort_granules_by_key else list(granules)
    inner, outer = tuple(mesh_shape), tuple(dcn_mesh_shape)
    rank = max(len(inner), len(outer))
    inner, outer = (1,) * (rank - len(inner)) + inner, (1,) * (rank - len(outer)) + outer
    if prod(outer) != len(keys):
        raise ValueError(
            f"create_hybrid_device_mesh: dcn_mesh_shape={tuple(dcn_mesh_shape)} is for "
            f"{prod(outer)} slices, but by {key} there are {len(keys)}. Choose sizes that multiply "
            "to that."
        )
    parts = [
        create_device_mesh(
            inner,
            sorted(granules[k], key=lambda device: device.id),
            allow_split_physical_axes=allow_split_physical_axes,
        )
        for k in keys
    ]
    # Axis by axis, the index over slices is the major part.
    whole = np.stack(parts).reshape(outer + inner)
    order = itertools.chain.from_iterable((axis, rank + axis) for axis in range(rank))
    return whole.transpose(tuple(order)).reshape(
        tuple(o * i for o, i in zip(outer, inner, strict=True))
    )
