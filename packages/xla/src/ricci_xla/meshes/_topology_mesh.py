"""Meshes of the devices of a topology."""

from collections.abc import Hashable, Sequence

from ricci_xla.devices._topologies import TopologyDescription

from ._arrangement import create_device_mesh
from ._mesh import Mesh

__all__ = ["make_topology_mesh"]


def make_topology_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: Sequence[Hashable],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """A mesh of all devices of a topology.

    Args:
      topo: the topology.
      mesh_shape: the size of each axis.
      axis_names: the name of each axis.
      contiguous_submeshes: see ``create_device_mesh``.

    Returns:
      The mesh.

    Raises:
      ValueError: if the sizes do not multiply to the number of devices.

    Example:
      >>> from ricci.experimental.topologies import get_attached_topology, make_mesh
      >>> topology = get_attached_topology("cpu")
      >>> make_mesh(topology, (len(topology.devices), 1), ("data", "model")).axis_names
      ('data', 'model')
    """
    grid = create_device_mesh(mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes)
    return Mesh(grid, tuple(axis_names))
