"""Partition specs: which mesh axes each dimension of an array is spread over."""

from collections.abc import Iterable, Iterator
from typing import Any

from ricci_xla.devices._jaxlib import runtime

__all__ = [
    "P",
    "PartitionSpec",
    "UNCONSTRAINED",
]


class _Unconstrained:
    """Leaves a dimension's partitioning to the compiler."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self):
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()
runtime.set_pspec_unconstrained(UNCONSTRAINED)


class PartitionSpec:
    """For each dimension of an array, the mesh axis or axes that it is spread over.

    Args:
      partitions: for each dimension an axis name, a tuple of them, ``None`` (whole on every
        device) or ``PartitionSpec.UNCONSTRAINED``. Dimensions left out at the end are whole.
      unreduced: mesh axes over which values are still to be summed.
      reduced: mesh axes over which values have been summed.

    Example:
      >>> PartitionSpec("x", None, ("y", "z"))
      P('x', None, ('y', 'z'))
    """

    __slots__ = ("_hash", "partitions", "reduced", "unreduced")

    UNCONSTRAINED = UNCONSTRAINED

    def __init__(self, *partitions: Any, unreduced: Iterable = (), reduced: Iterable = ()):
        self.partitions = runtime.canonicalize_partitions(partitions)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        self._hash = hash((self.partitions, self.unreduced, self.reduced))

    @property
    def _partitions(self) -> tuple:
        return self.partitions

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __add__(self, other: Any) -> "PartitionSpec":
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

    def __radd__(self, other: Any) -> "PartitionSpec":
        if isinstance(other, tuple):
            return self.update(other + self.partitions)
        return NotImplemented

    def __eq__(self, other: Any) -> bool:
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

    def __reduce__(self):
        return _rebuild, (self.partitions, self.unreduced, self.reduced)

    def index(self, value: Any) -> int:
        """The first dimension partitioned as ``value`` says."""
        return self.partitions.index(runtime.canonicalize_partition(value))

    def count(self, value: Any) -> int:
        """How many dimensions are partitioned as ``value`` says."""
        return self.partitions.count(runtime.canonicalize_partition(value))

    def update(self, partitions=None, unreduced=None, reduced=None) -> "PartitionSpec":
        """This spec with some parts replaced."""
        return _rebuild(
            self.partitions if partitions is None else partitions,
            self.unreduced if unreduced is None else unreduced,
            self.reduced if reduced is None else reduced,
        )

    def _axis_names(self) -> Iterator[tuple[int, Any]]:
        """Every mesh axis with the dimension it partitions."""
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


def _rebuild(partitions: tuple, unreduced: Iterable, reduced: Iterable) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


P = PartitionSpec
