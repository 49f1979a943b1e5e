"""The mesh that this thread has entered, by the older interface ``thread_resources``."""

from typing import Any, NamedTuple

from ._current_mesh import empty_mesh
from ._mesh import Mesh, entered_mesh

__all__ = [
    "ResourceEnv",
    "ThreadResources",
    "thread_resources",
]


class ResourceEnv(NamedTuple):
    """The mesh of the innermost ``with mesh:`` block.

    Attributes:
      physical_mesh: the mesh; an empty one outside of such blocks.
    """

    physical_mesh: Mesh

    @property
    def shape(self) -> Any:
        """The sizes of the mesh's axes, by name."""
        return self.physical_mesh.shape

    @property
    def resource_axes(self) -> set[Any]:
        """The names of the mesh's axes."""
        return set(self.physical_mesh.axis_names)

    physical_resource_axes = resource_axes


class ThreadResources:
    """The mesh that the calling thread has entered, as ``env``."""

    __slots__ = ()

    @property
    def env(self) -> ResourceEnv:
        """The mesh of the calling thread."""
        mesh = entered_mesh()
        return ResourceEnv(empty_mesh if mesh is None else mesh)


thread_resources: ThreadResources = ThreadResources()
