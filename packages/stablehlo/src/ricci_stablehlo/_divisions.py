"""How an array is divided over a mesh, in the words of Shardy."""

from typing import Any

from ricci_ir import AxisNames, Parts, no_axes

from ._types import string


def parts_text(mesh: Any, parts: Parts, rank: int, unreduced: AxisNames = no_axes) -> str:
    """How an array is divided over the ``Explicit`` axes of a mesh, as Shardy writes it.

    Where the mesh has ``Auto`` axes as well, the compiler may divide further over those.

    Args:
      mesh: the abstract mesh.
      parts: the axes of each dimension; dimensions behind them are not divided.
      rank: the number of dimensions.
      unreduced: the axes along which devices hold terms of a sum.
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
