"""Partition specs: the mesh axes that divide each dimension of an array."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

from ricci_xla.devices._jaxlib import runtime

__all__ = [
    "P",
    "PartitionSpec",
    "UNCONSTRAINED",
]


class _Unconstrained:
    """The type of ``UNCONSTRAINED``, which leaves a dimension's partitioning to the compiler."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()
runtime.set_pspec_unconstrained(UNCONSTRAINED)


type Partition = Hashable | Sequence[Hashable]
"""How one dimension is divided: a mesh axis, several, ``None`` or ``UNCONSTRAINED``."""


class PartitionSpec:
    """For each dimension of an array, the mesh axis or axes that divide it.

    Args:
      partitions: for each dimension an axis name, a tuple of them, ``None`` (not divided) or
        ``PartitionSpec.UNCONSTRAINED``. Dimensions left out at the end are not divided.
      unreduced: mesh axes over which the values have yet to be summed.
      reduced: mesh axes over which the values have been summed.

    Example:
      >>> PartitionSpec("x", None, ("y", "z"))
      P('x', None, ('y', 'z'))
    """

    __slots__ = ("_hash", "partitions", "reduced", "unreduced")

    UNCONSTRAINED = UNCONSTRAINED

    partitions: tuple[Any, ...]
    unreduced: frozenset[Hashable]
    reduced: frozenset[Hashable]

    def __init__(
        self,
        *partitions: Partition,
        unreduced: Iterable[Hashable] = (),
        reduced: Iterable[Hashable] = (),
    ):
        self.partitions = runtime.canonicalize_partitions(partitions)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        self._hash = hash((self.partitions, self.unreduced, self.reduced))

    @property
    def _partitions(self) -> tuple[Any, ...]:
        return self.partitions

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self.partitions[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __add__(self, other: object) -> "PartitionSpec":
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self.partitions,
                *other.partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if isinstance(other, tuple):
            return self.update(self.partitions + other)
        return NotImplemented

    def __radd__(self, other: object) -> "PartitionSpec":
        if isinstance(other, tuple):
            return self.update(other + self.partitions)
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PartitionSpec):
            return False
        return (
            self.partitions == other.partitions
            and self.unreduced == other.unreduced
            and self.reduced == other.reduced
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.partitions, self.unreduced, self.reduced)

    def index(self, value: Partition) -> int:
        """The first dimension partitioned as ``value`` says."""
        return self.partitions.index(runtime.canonicalize_partition(value))

    def count(self, value: Partition) -> int:
        """How many dimensions are partitioned as ``value`` says."""
        return self.partitions.count(runtime.canonicalize_partition(value))

    def update(
        self,
        partitions: Iterable[Partition] | None = None,
        unreduced: Iterable[Hashable] | None = None,
        reduced: Iterable[Hashable] | None = None,
    ) -> "PartitionSpec":
        """This spec with some parts replaced."""
        return _rebuild(
            self.partitions if partitions is None else partitions,
            self.unreduced if unreduced is None else unreduced,
            self.reduced if reduced is None else reduced,
        )

    def _axis_names(self) -> Iterator[tuple[int, Hashable]]:
        """Each mesh axis of the spec, after the dimension that it divides."""
        for dimension, part in enumerate(self.partitions):
            if part is None or part is UNCONSTRAINED:
                continue
            for name in part if isinstance(part, tuple) else (part,):
                yield dimension, name

    def __repr__(self) -> str:
        extra = [
            f"{name}={{{', '.join(sorted(map(repr, axes)))}}}"
            for name, axes in (("unreduced", self.unreduced), ("reduced", self.reduced))
            if axes
        ]
        if extra:
            return f"P({', '.join([*map(repr, self.partitions), *extra])})"
        parts = ", ".join(map(repr, self.partitions))
        return f"P({parts}{',' if len(self.partitions) == 1 else ''})"


def _rebuild(
    partitions: Iterable[Partition],
    unreduced: Iterable[Hashable],
    reduced: Iterable[Hashable],
) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


P = PartitionSpec
