"""Sharding attributes in Shardy (sdy) syntax."""

from typing import Any

from ricci_ir import AxisNames, Parts, no_axes

from ._types import string

__all__ = ["parts_text"]


def parts_text(mesh: Any, parts: Parts, rank: int, unreduced: AxisNames = no_axes) -> str:
    """Return the Shardy text of a sharding over the ``Explicit`` axes of a mesh.

    If the mesh also has ``Auto`` axes, the compiler may shard further along these.

    Args:
      mesh: the abstract mesh.
      parts: the axes of each dimension; further dimensions are replicated.
      rank: the number of dimensions.
      unreduced: the axes along which the array is a partial sum.
    """
    parts = (*parts, *((),) * (rank - len(parts)))
    further = ["?"] if mesh.auto_axes else []
    dims = (", ".join([*(string(str(n)) for n in part), *further]) for part in parts)
    text = f"[{', '.join(f'{{{dim}}}' for dim in dims)}]"
    used = {*unreduced, *(name for part in parts for name in part)}
    unused = [n for n in mesh.explicit_axes if n not in used] if further else []
    terms = [n for n in mesh.axis_names if n in unreduced]
    for kind, names in (("replicated", unused), ("unreduced", terms)):
        if names:
            text += f", {kind}={{{', '.join(string(str(n)) for n in names)}}}"
    return text
