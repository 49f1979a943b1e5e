"""What a program on shards is traced under: its axes by name, and the mesh with manual axes."""

from collections.abc import Callable

from ricci_ir import (
    AxisNames,
    current_mesh,
    extend_axes,
    varying_axes,
)

from ._specs import AnyMesh, manual_mesh


def in_scope[T](
    mesh: AnyMesh, manual: AxisNames, build: Callable[[], T], check_vma: bool = False
) -> T:
    """The result of ``build``, called inside a program on shards.

    Args:
      mesh: the mesh.
      manual: the axes that the program works on.
      build: traces or transforms the program.
      check_vma: whether the types inside say along which axes values vary.
    """
    sizes = [(name, size) for name, size in mesh.shape.items() if name in manual]
    with extend_axes(sizes), current_mesh(manual_mesh(mesh, manual)), varying_axes(check_vma):
        return build()
