"""The shardings that ``jit`` is called with: validation, and constraints inside other functions.

A call inside another traced function is part of the outer jaxpr, so that its shardings become
constraints there. ``ricci_parallel`` defines and registers the constraint's primitive.
"""

from collections.abc import Callable, Sequence
from typing import Any, final

import ricci_ir as ir
from ricci_ir import PyTree
from ricci_pytree import PyTreeDef, flatten_axes, keystr, tree_flatten_with_path
from ricci_xla.arrays._layout import AutoLayout, Format, Layout
from ricci_xla.compile._place import Layouts
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._current_mesh import (
    sharding_in_program,
    sharding_on_devices,
    with_set_devices,
)
from ricci_xla.meshes._shard_shapes import check_fits
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding
from ricci_xla.meshes._spec import UNCONSTRAINED, PartitionSpec
from ricci_xla.tracing._program import function_name

__all__ = ["ProgramShardings", "UNSPECIFIED", "UnspecifiedValue", "constrain_inner"]

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


@final
class UnspecifiedValue:
    """A sharding left to the compiler, as ``None`` is; ``UNSPECIFIED`` is its instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = UnspecifiedValue()


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
    return None if all(layout is None for layout in layouts) else layouts


def _sharding(
    name: str, leaf: Sharding | PartitionSpec | Format | UnspecifiedValue | None
) -> Sharding | None:
    # While tracing, an abstract mesh is enough. A call that runs needs the devices of the mesh that
    # is set.
    if isinstance(leaf, NamedSharding) and isinstance(leaf.mesh, AbstractMesh):
        return with_set_devices(leaf, f"jit {name}") if ir.context.trace is ir.eval_trace else leaf
    if leaf is None or isinstance(leaf, UnspecifiedValue):
        return None
    if isinstance(leaf, Sharding):
        return leaf
    if isinstance(leaf, PartitionSpec):
        if ir.context.trace is ir.eval_trace:
            return sharding_on_devices(leaf, f"jit {name}")
        return sharding_in_program(leaf, f"jit {name}")
    return leaf.sharding


def validate_shardings(name: str, shardings: PyTree) -> PyTree:
    """Check a pytree of shardings, and return it; ``in_shardings`` as a tuple if it is a list.

    Args:
      name: the argument of ``jit``: ``"in_shardings"`` or ``"out_shardings"``.
      shardings: its value.

    Raises:
      TypeError: if a leaf is neither a sharding nor a spec nor ``None``.
      ValueError: if a leaf leaves a dimension open, or is a layout alone.
    """
    if isinstance(shardings, ProgramShardings):
        return shardings
    for path, leaf in tree_flatten_with_path(shardings)[0]:
        what = f"{name}{keystr(path)}"
        if isinstance(leaf, Layout | AutoLayout):
            raise ValueError(
                f"jit: {what} is the layout {leaf} alone, which needs a sharding. Give "
                "Format(layout, sharding)."
            )
        if not isinstance(leaf, Sharding | PartitionSpec | Format | UnspecifiedValue):
            raise TypeError(
                f"jit: {what} is {leaf!r} of type {type(leaf).__name__}, where a Sharding, a "
                "PartitionSpec or None was expected. A device is given as "
                "SingleDeviceSharding(device)."
            )
        spec = leaf.spec if isinstance(leaf, NamedSharding) else leaf
        if isinstance(spec, PartitionSpec) and UNCONSTRAINED in spec:
            raise ValueError(
                f"jit: {what} is {spec}, which leaves a dimension open. Write None there, or leave "
                "the sharding out, so that the compiler chooses all of it."
            )
    if name == "in_shardings" and isinstance(shardings, list):
        return tuple(shardings)
    return shardings


def check_positional(fun: Callable[..., Any], in_shardings: PyTree, kwargs: dict[str, Any]) -> None:
    """Raise ``ValueError`` for keyword arguments, which ``in_shardings`` does not cover."""
    if kwargs and not isinstance(in_shardings, ProgramShardings):
        raise ValueError(
            f"jit of {function_name(fun)} has in_shardings, which are for positional arguments, "
            f"but is called with the keyword arguments {', '.join(kwargs)}. Pass them by position."
        )
