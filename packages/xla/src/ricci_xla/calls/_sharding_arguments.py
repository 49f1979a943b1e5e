"""Validate the arguments ``in_shardings`` and ``out_shardings`` of ``jit``."""

from collections.abc import Callable
from typing import Any

from ricci_ir import PyTree
from ricci_pytree import keystr, tree_flatten_with_path
from ricci_xla.arrays._layout import Format, Layout
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding
from ricci_xla.meshes._spec import UNCONSTRAINED, PartitionSpec
from ricci_xla.tracing._program import function_name

from ._inner_shardings import ProgramShardings


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
        if isinstance(leaf, Layout):
            raise ValueError(
                f"jit: {what} is the layout {leaf} alone, which needs a sharding. Give "
                "Format(layout, sharding)."
            )
        if not isinstance(leaf, Sharding | PartitionSpec | Format):
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
