"""Contractions over sharded dimensions whose results stay unreduced, as ``out_sharding`` asks."""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, Self

import ricci_ir as ir
import ricci_lax as lax

__all__: list[str] = []


class NamedPlacement(Protocol):
    """A ``NamedSharding``, which this package cannot import."""

    @property
    def spec(self) -> Any:
        """Its ``PartitionSpec``."""
        ...

    def update(self, *, spec: object) -> Self:
        """The same on another spec."""
        ...


def partial_sums(
    target: NamedPlacement | None,
    lhs: ir.Array,
    rhs: ir.Array,
    dimensions: lax.DotDimensionNumbers,
    order: Sequence[int],
    expanded: Sequence[int] = (),
) -> NamedPlacement | None:
    """Return the sharding of a contraction whose devices keep their terms of its sums.

    Args:
      target: the sharding of the final result, or ``None``.
      lhs, rhs, dimensions: the operands of ``dot_general``, and what it sums over.
      order: the permutation of the contraction's dimensions that follows.
      expanded: the dimensions of the final result that are then inserted.

    Returns:
      The sharding to compute the contraction with; ``None`` unless ``target`` is unreduced along
      the very axes that shard the dimensions summed over.
    """
    if target is None or not target.spec.unreduced:
        return None
    # The terms are along the mesh axes that shard the contracted dimensions of both operands. If
    # these are others than those asked for, the sum is done and the result gets the sharding
    # afterwards.
    for x, dims in zip((lhs, rhs), dimensions[0], strict=True):
        if _axes(x, dims) != target.spec.unreduced:
            return None
    # From the result's dimensions back to those of ``dot_general``, before its transposition.
    partitions = [p for d, p in enumerate(target.spec.partitions) if d not in expanded]
    parts: list[Any] = [None] * len(order)
    for dim, part in zip(order, partitions, strict=False):
        parts[dim] = part
    return target.update(spec=target.spec.update(partitions=parts))


def _axes(x: ir.Array, dims: Sequence[int]) -> frozenset[Hashable]:
    sharding = ir.get_aval(x).type_sharding
    if sharding is None:
        return frozenset()
    return frozenset(axis for dim in dims for axis in sharding.parts[dim])
