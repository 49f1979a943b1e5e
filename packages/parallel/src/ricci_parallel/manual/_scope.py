"""The scope in which the jaxpr of ``shard_map`` is traced: named axes, and manual mesh axes."""

from collections.abc import Callable

from ricci_ir import AxisNames, current_mesh, extend_axes, varying_axes

from ._specs import AnyMesh, manual_mesh


def in_scope[T](
    mesh: AnyMesh, manual: AxisNames, build: Callable[[], T], check_vma: bool = False
) -> T:
    """Call ``build`` with the axes and mesh of a ``shard_map`` in force.

    Args:
      mesh: the mesh.
      manual: the axes of the mesh that become manual.
      build: traces or transforms the jaxpr.
      check_vma: whether the types inside record along which axes values vary.
    """
    sizes = [(name, size) for name, size in mesh.shape.items() if name in manual]
    with extend_axes(sizes), current_mesh(manual_mesh(mesh, manual)), varying_axes(check_vma):
        return build()
