"""Groups of devices that take part in a collective together, and their mesh axes."""

import itertools
import re
from collections.abc import Hashable, Iterable, Sequence
from math import prod

import numpy as np

from ricci_xla import Mesh

# The groups of a collective, each a set of positions in the executable's list of devices.
type Groups = frozenset[frozenset[int]]

_LISTS = re.compile(r"replica_groups=(\{(?:\{[\d,]*\},?)*\})")
_IOTA = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(
    r"replica_groups=mesh\[([^\]]*)\](?:,? *device_ids=\(?([^)\s]*)\)?)? *\{([^}]*)\}"
)
_DEVICE_IDS = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_AXIS_SIZE = re.compile(r"'([^']*)'=(\d+)")
_AXIS = re.compile(r"'([^']*)'(?::\((\d+)\)(\d+))?")
_PAIRS = re.compile(r"source_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")
_PAIR = re.compile(r"\{(\d+),(\d+)\}")


def read_groups(attributes: str, count: int) -> Groups:
    """Parse the groups of a collective from the text of its attributes.

    Args:
      attributes: has ``replica_groups=`` in one of three forms: lists of positions, positions in
        the order of a reshaped and transposed range, or axes of XLA's own mesh.
      count: the number of devices.

    Returns:
      The groups; one of all devices if the text names none.

    Example:
      >>> from ricci_parallel.reports._device_groups import read_groups
      >>> sorted(map(sorted, read_groups("replica_groups=[2,2]<=[2,2]T(1,0)", 4)))
      [[0, 2], [1, 3]]
      >>> sorted(map(sorted, read_groups("replica_groups=mesh['a'=2,'b'=2] {'b'}", 4)))
      [[0, 1], [2, 3]]
    """
    if match := _IOTA.search(attributes):
        rows, columns = _numbers(match[1])
        return _rows(_iota(match[2], match[3]).reshape(rows, columns))
    if match := _MESH.search(attributes):
        return _mesh_groups(match[1], match[2], match[3])
    if match := _LISTS.search(attributes):
        groups = [_numbers(text) for text in re.findall(r"\{([\d,]+)\}", match[1])]
        if groups:
            return frozenset(map(frozenset, groups))
    return frozenset([frozenset(range(count))])


def read_pairs(attributes: str) -> list[tuple[int, int]]:
    """Parse the pairs of a permutation, each the position that sends and the one that receives.

    Example:
      >>> from ricci_parallel.reports._device_groups import read_pairs
      >>> read_pairs("channel_id=1, source_target_pairs={{0,1},{1,0}}")
      [(0, 1), (1, 0)]
    """
    match = _PAIRS.search(attributes)
    return [(int(a), int(b)) for a, b in _PAIR.findall(match[1])] if match else []


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",") if n]


def _rows(grid: np.ndarray) -> Groups:
    return frozenset(frozenset(row) for row in grid.tolist())


def _iota(sizes: str, order: str | None) -> np.ndarray:
    grid = np.arange(prod(_numbers(sizes))).reshape(_numbers(sizes))
    return grid if order is None else grid.transpose(_numbers(order))


def _mesh_groups(axes: str, device_ids: str | None, grouped: str) -> Groups:
    """Return groups that are named by axes of a mesh, or by parts of axes: ``'x':(2)4``.

    Such a part has 4 elements, and 2 of the axis's elements stand before it: it is the middle one
    of three axes of the sizes 2, 4 and the remaining one, into which the axis is split.
    """
    sizes = {name: int(size) for name, size in _AXIS_SIZE.findall(axes)}
    named_parts = [
        (name, int(before or 1), int(size or 0)) for name, before, size in _AXIS.findall(grouped)
    ]
    # Each axis is split at all positions where a named part begins or ends, so that every part is a
    # product of whole pieces. ``low`` is the number of elements before a piece.
    cuts: dict[str, set[int]] = {name: {1, size} for name, size in sizes.items()}
    for name, before, size in named_parts:
        cuts[name] |= {before, before * (size or sizes[name])}
    pieces = [
        (name, low, high // low)
        for name in sizes
        for low, high in itertools.pairwise(sorted(cuts[name]))
    ]
    ids = np.arange(prod(sizes.values()))
    if device_ids:
        written = _DEVICE_IDS.match(device_ids)
        listed = _iota(written[2], written[3]) if written else np.array(_numbers(device_ids))
        ids = listed.ravel()
    grid = ids.reshape([size for _, _, size in pieces])
    inside = [
        i
        for i, (name, low, size) in enumerate(pieces)
        for part_name, before, whole in named_parts
        if name == part_name and before <= low and low * size <= before * (whole or sizes[name])
    ]
    outside = [i for i in range(len(pieces)) if i not in inside]
    columns = prod(pieces[i][2] for i in inside)
    return _rows(grid.transpose([*outside, *inside]).reshape(-1, columns))


class MeshAxes:
    """Finds the axes of the user's meshes that groups of devices follow.

    Args:
      meshes: the meshes, in order of precedence.
      devices: the executable's devices, in its order.
    """

    def __init__(self, meshes: Iterable[Mesh], devices: Sequence[object]):
        position = {device: i for i, device in enumerate(devices)}
        self._grids = [
            (mesh.axis_names, np.vectorize(position.__getitem__, otypes=[int])(mesh.devices))
            for mesh in meshes
            if set(mesh.devices.flat) == set(position)
        ]
        self._known: dict[Groups, tuple[Hashable, ...] | None] = {}

    def of_groups(self, groups: Groups) -> tuple[Hashable, ...] | None:
        """Return the axes along which the devices of a group differ; ``None`` if no axes fit.

        For groups of one device each there are no axes.
        """
        if groups not in self._known:
            self._known[groups] = self._search(groups)
        return self._known[groups]

    def _search(self, groups: Groups) -> tuple[Hashable, ...] | None:
        size = len(next(iter(groups)))
        for names, grid in self._grids:
            # A mesh has few axes, so all combinations are tried; the smallest that fits comes
            # first, which leaves out axes of size 1.
            for count in range(len(names) + 1):
                for inside in itertools.combinations(range(len(names)), count):
                    if prod(grid.shape[i] for i in inside) != size:
                        continue
                    outside = [i for i in range(len(names)) if i not in inside]
                    rows = grid.transpose([*outside, *inside]).reshape(-1, size)
                    if _rows(rows) == groups:
                        return tuple(names[i] for i in inside)
        return None

    def of_pairs(self, pairs: Sequence[tuple[int, int]]) -> tuple[Hashable, ...] | None:
        """Return the axes along which a permutation moves data; ``None`` without a mesh."""
        if not self._grids:
            return None
        names, grid = self._grids[0]
        # A permutation moves data along an axis if a sender and its receiver differ in that
        # coordinate.
        place = {int(device): index for index, device in np.ndenumerate(grid)}
        moved = {
            i
            for source, target in pairs
            for i, (a, b) in enumerate(zip(place[source], place[target], strict=True))
            if a != b
        }
        return tuple(names[i] for i in sorted(moved))
