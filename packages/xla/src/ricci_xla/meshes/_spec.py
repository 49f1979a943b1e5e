"""Partition specs: the mesh axes that shard each dimension of an array."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from threading import RLock
from typing import Any, SupportsIndex, final
from weakref import WeakValueDictionary

from ricci_ir import Cache, UnreducedKind, leave, without_boundaries
from ricci_xla.devices._jaxlib import runtime

__all__ = ["P", "PartitionSpec", "UNCONSTRAINED"]


class _Unconstrained:
    """The type of ``UNCONSTRAINED``, which leaves a dimension's partitioning to the compiler."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()
runtime.set_pspec_unconstrained(UNCONSTRAINED)


_none: frozenset[Hashable] = frozenset()
_set = object.__setattr__

type Partition = Hashable | Sequence[Hashable]
"""The sharding of one dimension: a mesh axis, several, ``None`` or ``UNCONSTRAINED``."""


@final
@without_boundaries
class PartitionSpec:
    """The mesh axis or axes that shard each dimension of an array.

    Args:
      partitions: for each dimension an axis name, a tuple of them, ``None`` (not sharded) or
        ``PartitionSpec.UNCONSTRAINED``. Dimensions left out at the end are not sharded.
      unreduced: a set of mesh axes along which the devices hold parts that have yet to be combined.
      reduced: a set of mesh axes along which the values are the same, and their cotangents
        ``unreduced``.
      unreduced_kind: how such parts are to be combined; by a sum, unless it is given.

    Raises:
      TypeError: if the axes are not given as sets.
      ValueError: if an axis is named in two ways, or ``unreduced_kind`` is given without
        ``unreduced``.

    Example:
      Rows over ``x``, columns not sharded, the last dimension over two axes together:

      >>> import ricci
      >>> ricci.P("x", None, ("y", "z"))
      P('x', None, ('y', 'z'))

      Each device of a mesh of 4 by 2 holds a part of this shape:

      >>> from ricci.sharding import AbstractMesh, NamedSharding
      >>> mesh = AbstractMesh((4, 2), ("x", "y"))
      >>> NamedSharding(mesh, ricci.P("x", "y")).shard_shape((8, 8))
      (2, 4)
      >>> NamedSharding(mesh, ricci.P(("x", "y"))).shard_shape((8, 8))
      (1, 8)

    Notes:
      A spec names mesh axes by position: ``P("x", "y")`` shards dimension 0 over ``x``, while
      ``P(("x", "y"))`` shards dimension 0 over both. ``P()`` is replicated. Equal specs are one
      object while they are in use.
    """

    __slots__ = ("__weakref__", "_hash", "partitions", "reduced", "unreduced", "unreduced_kind")

    UNCONSTRAINED = UNCONSTRAINED

    partitions: tuple[Any, ...]
    unreduced: frozenset[Hashable]
    reduced: frozenset[Hashable]
    unreduced_kind: UnreducedKind | None
    _hash: int

    def __new__(
        cls,
        *partitions: Partition,
        unreduced: Set[Hashable] = _none,
        reduced: Set[Hashable] = _none,
        unreduced_kind: UnreducedKind | None = None,
    ) -> "PartitionSpec":
        try:
            parts = runtime.canonicalize_partitions(partitions)
            if unreduced is not _none or reduced is not _none or unreduced_kind is not None:
                unreduced, reduced = _checked_axes(parts, unreduced, reduced)
                unreduced_kind = _checked_kind(unreduced_kind, unreduced)
        except Exception as error:
            leave(error)
            raise
        key = (parts, unreduced, reduced, unreduced_kind)
        # Specs are made for most annotations: a hit takes no lock and makes no object.
        spec = _usual.get(key)
        return _interned.make(key, _living_spec, key) if spec is None else spec

    def __init_subclass__(cls) -> None:
        raise TypeError(f"{cls.__name__} cannot be a subclass of PartitionSpec.")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a PartitionSpec does not change; update({name}=...) makes another.")

    @property
    def _partitions(self) -> tuple[Any, ...]:
        return self.partitions

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if self.unreduced or self.reduced:
            raise ValueError(
                f"{self}[{index!r}] would drop the unreduced and reduced axes. Write "
                f"spec.partitions[{index!r}]."
            )
        return self.partitions[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __add__(self, other: object) -> "PartitionSpec":
        if isinstance(other, PartitionSpec):
            if self.unreduced_kind is not other.unreduced_kind:
                raise TypeError(
                    f"{self} + {other}: both must be unreduced in the same way, or none. Join "
                    "their partitions with update(partitions=...) instead."
                )
            return PartitionSpec(
                *self.partitions,
                *other.partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
                unreduced_kind=self.unreduced_kind,
            )
        return self._joined(other, lambda more: self.partitions + more)

    def __radd__(self, other: object) -> "PartitionSpec":
        return self._joined(other, lambda more: more + self.partitions)

    def _joined(
        self, other: object, join: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    ) -> "PartitionSpec":
        if not isinstance(other, tuple):
            raise NotImplementedError(
                f"a PartitionSpec and a tuple can be added, or two of them; got {other!r} of type "
                f"{type(other).__name__}."
            )
        if self.unreduced:
            raise TypeError(
                f"{self} and the tuple {other} cannot be added: a tuple has no unreduced axes. Use "
                "update(partitions=...)."
            )
        return self.update(join(other))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PartitionSpec):
            return False
        return (
            self.partitions == other.partitions
            and self.unreduced == other.unreduced
            and self.reduced == other.reduced
            and self.unreduced_kind is other.unreduced_kind
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.partitions, self.unreduced, self.reduced, self.unreduced_kind)

    def index(self, value: Partition) -> int:
        """The first dimension whose partition is ``value``."""
        return self.partitions.index(runtime.canonicalize_partition(value))

    def count(self, value: Partition) -> int:
        """The number of dimensions whose partition is ``value``."""
        return self.partitions.count(runtime.canonicalize_partition(value))

    def update(
        self,
        partitions: Iterable[Partition] | None = None,
        unreduced: Set[Hashable] | None = None,
        reduced: Set[Hashable] | None = None,
        unreduced_kind: UnreducedKind | None = None,
    ) -> "PartitionSpec":
        """This spec with some parts replaced."""
        new = self.unreduced if unreduced is None else unreduced
        return _rebuild(
            self.partitions if partitions is None else partitions,
            new,
            self.reduced if reduced is None else reduced,
            unreduced_kind or (self.unreduced_kind if new else None),
        )

    def to_lo(self) -> "list[PartitionSpec]":
        """The specs of the arrays that a value consists of: for an array, this spec alone."""
        return [self]

    def to_tangent_spec(self) -> "PartitionSpec":
        """The spec of tangents, which is the same."""
        return self

    def to_ct_spec(self) -> "PartitionSpec":
        """The spec of cotangents: ``unreduced`` and ``reduced`` are swapped."""
        # The terms of a sum all have its cotangent: that of an unreduced value is equal along the
        # axis, and that of a value which is equal along it is a sum of terms.
        return _rebuild(self.partitions, self.reduced, self.unreduced)

    def _axis_names(self) -> Iterator[tuple[int, Hashable]]:
        """Pairs of a dimension and a mesh axis that shards it."""
        for dimension, part in enumerate(self.partitions):
            if part is None or part is UNCONSTRAINED:
                continue
            for name in part if isinstance(part, tuple) else (part,):
                yield dimension, name

    def __repr__(self) -> str:
        parts = ", ".join(map(repr, self.partitions))
        if not self.unreduced and not self.reduced:
            return f"P({parts}{',' if len(self.partitions) == 1 else ''})"
        sets = (("unreduced", self.unreduced), ("reduced", self.reduced))
        texts = [f"{name}={{{_listed(axes)}}}" for name, axes in sets if axes]
        if self.unreduced_kind is not None:
            texts.append(f"unreduced_kind={self.unreduced_kind.name}")
        return f"P({', '.join([parts] * bool(parts) + texts)})"


def _listed(axes: Iterable[Hashable]) -> str:
    return ", ".join(sorted(map(repr, axes)))


def _checked_axes(
    parts: tuple[Partition, ...], unreduced: object, reduced: object
) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
    """The sets of unreduced and reduced axes of a spec, which must not name one in two ways."""
    sets = []
    for what, axes in (("unreduced", unreduced), ("reduced", reduced)):
        if not isinstance(axes, set | frozenset):
            raise TypeError(
                f"PartitionSpec: {what} takes a set of axis names, got {axes!r} of type "
                f"{type(axes).__name__}. Write {what}={{'x'}}."
            )
        if None in axes:
            raise ValueError(f"PartitionSpec: {what}={axes} has None, which names no mesh axis.")
        sets.append(frozenset(axes))
    names = {n for part in parts for n in (part if isinstance(part, tuple) else (part,))}
    for one, other, both in (
        ("divides a dimension", "unreduced", names & sets[0]),
        ("divides a dimension", "reduced", names & sets[1]),
        ("is unreduced", "reduced", sets[0] & sets[1]),
    ):
        for name in both:
            raise ValueError(
                f"PartitionSpec: the axis {name!r} {one} and is {other}. It can be only one of "
                "these: leave it out of one."
            )
    return sets[0], sets[1]


def _checked_kind(kind: object, unreduced: frozenset[Hashable]) -> UnreducedKind | None:
    if kind is not None and not isinstance(kind, UnreducedKind):
        raise TypeError(
            f"PartitionSpec: unreduced_kind takes an UnreducedKind, got {kind!r} of type "
            f"{type(kind).__name__}."
        )
    if kind is not None and not unreduced:
        raise ValueError(
            f"PartitionSpec: unreduced_kind={kind} needs unreduced axes, but there are none."
        )
    return UnreducedKind.sum if unreduced and kind is None else kind


def _rebuild(
    partitions: Iterable[Partition],
    unreduced: Set[Hashable],
    reduced: Set[Hashable],
    unreduced_kind: UnreducedKind | None = None,
) -> PartitionSpec:
    return PartitionSpec(
        *partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=unreduced_kind
    )


# Equal specs are one object: ``_living`` holds those in use, weakly; ``_interned`` is a fast lookup
# of the common ones, and keeps them alive between uses.
_interned: Cache[Any, PartitionSpec] = Cache("partition specs", 1024)
_usual = _interned.entries
_living: WeakValueDictionary[Any, PartitionSpec] = WeakValueDictionary()
_lock = RLock()  # reentrant: a destructor that runs inside may make a spec


def _living_spec(key: tuple[Any, ...]) -> PartitionSpec:
    """Return the living spec with these attributes, or create it."""
    with _lock:
        spec = _living.get(key)
        if spec is None:
            spec = object.__new__(PartitionSpec)
            names = ("partitions", "unreduced", "reduced", "unreduced_kind")
            for name, value in zip(names, key, strict=True):
                _set(spec, name, value)
            _set(spec, "_hash", hash(key))
            _living[key] = spec
        return spec


P = PartitionSpec
