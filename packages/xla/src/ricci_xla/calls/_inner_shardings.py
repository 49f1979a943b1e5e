"""Shardings of jitted functions that are called inside other traced functions.

Such a call is part of the outer jaxpr, so its shardings are constraints. ``ricci_parallel`` defines
and registers the constraint's primitive.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_pytree import PyTreeDef, flatten_axes
from ricci_xla.arrays._layout import Format
from ricci_xla.compile._place import Layouts
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._current_mesh import (
    sharding_in_program,
    sharding_on_devices,
    with_set_devices,
)
from ricci_xla.meshes._shard_shapes import check_fits
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding
from ricci_xla.meshes._spec import PartitionSpec

__all__ = ["constrain_inner", "ProgramShardings"]


# ``(x, sharding)``: returns a traced value with that sharding.
constrain_inner: ir.Hook[Callable[[Any, Sharding], ir.Array]] = ir.Hook(
    "constraints of shardings", provided_by="ricci_parallel", default=lambda x, sharding: x
)


def constrained(values: Sequence[Any], shardings: Sequence[Sharding | None]) -> list[Any]:
    """Constrain each traced value to its sharding, if that is not ``None``."""
    return [
        x if sharding is None else constrain_inner.call(x, sharding)
        for x, sharding in zip(values, shardings, strict=True)
    ]


class ProgramShardings:
    """Represents ``in_shardings`` that follow from the jaxpr, as those of ``pmap`` do.

    Inside other traced functions they add no constraints, since the operations imply them.

    Args:
      find: returns the sharding of each input of a jaxpr, or ``None`` for an unsharded one.
      across: called with the arguments of a call, as a tuple and a dictionary. If they are on
        several processes, it serves the call and returns a tuple of the result, else ``None``.
    """

    __slots__ = ("across", "find")

    def __init__(
        self,
        find: Callable[[ir.Jaxpr], Sequence[Sharding | None]],
        across: Callable[[Any, Any], tuple[Any] | None] | None = None,
    ):
        self.find: Callable[[ir.Jaxpr], Sequence[Sharding | None]] = find
        self.across: Callable[[Any, Any], tuple[Any] | None] | None = across


def sharding_leaves(
    name: str, tree: PyTreeDef, shardings: ir.PyTree
) -> tuple[Sharding | None, ...]:
    """Broadcast a prefix of shardings to the leaves of a tree.

    Args:
      name: the argument of ``jit``: ``"in_shardings"`` or ``"out_shardings"``.
      tree: the structure of the arguments or of the results.
      shardings: a prefix of it: shardings, ``None``, and specs for the mesh that is set.

    Raises:
      RuntimeError: if a spec is given and no mesh is set.
    """
    return tuple(_sharding(name, leaf) for leaf in flatten_axes(f"jit {name}", tree, shardings))


def check_leaves(
    shardings: Sequence[Sharding | None], avals: Sequence[ir.AbstractValue], names: Sequence[str]
) -> None:
    """Check that the leaves of arguments or results can have their shardings.

    Args:
      shardings: the sharding of each leaf, where it has one.
      avals: the type of each leaf.
      names: a description of each leaf, for messages.

    Raises:
      ValueError: if a leaf has too few dimensions.
      IndivisibleError: if a dimension cannot be divided evenly.
    """
    for sharding, aval, name in zip(shardings, avals, names, strict=True):
        if isinstance(aval, ir.ShapedArray):
            check_fits(sharding, aval.shape, name)


def layout_leaves(name: str, tree: PyTreeDef, shardings: ir.PyTree) -> Layouts | None:
    """Return the layout of each leaf of a tree, from formats; ``None`` if no leaf has one."""
    leaves = flatten_axes(f"jit {name}", tree, shardings)
    layouts = tuple(leaf.layout if isinstance(leaf, Format) else None for leaf in leaves)
    if all(layout is None for layout in layouts):
        return None
    return layouts


def _sharding(name: str, leaf: Sharding | PartitionSpec | Format | None) -> Sharding | None:
    if isinstance(leaf, NamedSharding) and isinstance(leaf.mesh, AbstractMesh):
        return with_set_devices(leaf, f"jit {name}") if ir.context.trace is ir.eval_trace else leaf
    if leaf is None or isinstance(leaf, Sharding):
        return leaf
    if isinstance(leaf, PartitionSpec):
        if ir.context.trace is ir.eval_trace:
            return sharding_on_devices(leaf, f"jit {name}")
        return sharding_in_program(leaf, f"jit {name}")
    return leaf.sharding
