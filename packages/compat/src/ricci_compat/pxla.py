"""Arrays of an executable's buffers, and the entered mesh: ``jax.interpreters.pxla``."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ricci_ir import Array, ShapedArray
from ricci_xla import Mesh, Sharding, empty_mesh, entered_mesh
from ricci_xla.authoring import result_handler


class ResultsHandler:
    """Makes an array of the shards of each result.

    Attributes:
      handlers: for each result, a function of its shards, one for each device.
      out_avals, out_shardings: the types and shardings of the results.
    """

    __slots__ = ("handlers", "out_avals", "out_shardings")

    def __init__(
        self, handlers: Sequence[Any], out_avals: Sequence[Any], out_shardings: Sequence[Any]
    ):
        self.handlers: list[Any] = list(handlers)
        self.out_avals: Sequence[Any] = out_avals
        self.out_shardings: Sequence[Any] = out_shardings

    def __call__(self, out_bufs: Sequence[Sequence[Any]]) -> list[Array]:
        """Return the results, given the shards of each."""
        return [handle(parts) for handle, parts in zip(self.handlers, out_bufs, strict=True)]


def global_avals_to_results_handler(
    global_out_avals: Sequence[ShapedArray], shardings: Sequence[Sharding], committed: bool
) -> ResultsHandler:
    """Return a handler that makes arrays of the buffers that an executable returns.

    Args:
      global_out_avals: the types of the whole results.
      shardings: the sharding of each.
      committed: whether the arrays are committed to their devices.
    """
    avals = list(global_out_avals)
    pairs = zip(avals, shardings, strict=True)
    handlers = [result_handler(aval, sharding, committed) for aval, sharding in pairs]
    return ResultsHandler(handlers, avals, list(shardings))


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
