"""``make_mesh`` and ``make_topology_mesh``: choice and order of a mesh's devices."""

from collections.abc import Hashable, Sequence
from math import prod

from ricci_xla.devices import Device, TopologyDescription
from ricci_xla.devices import devices as all_devices

from ._arrangement import arranged, checked_shape, create_device_mesh, in_order
from ._axes import AxisType, checked_names, checked_types
from ._mesh import Mesh

__all__ = ["make_mesh", "make_topology_mesh"]


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[Hashable],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices, as many as it needs, arranged for fast collectives.

    TPUs are arranged by their coordinates (see ``create_device_mesh``), other devices as listed.

    Args:
      axis_sizes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: an ``AxisType`` for each axis; all ``Explicit`` by default, so that shardings are
        part of the arrays' types.
      devices: the devices to take from; all of the default platform by default.

    Returns:
      The mesh.

    Raises:
      ValueError: if there are too few devices.

    Example:
      A mesh for data and model parallelism, of four devices, or of one if there are fewer:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import P
      >>> shape = (2, 2) if len(ricci.devices()) >= 4 else (1, 1)
      >>> mesh = ricci.make_mesh(shape, ("data", "model"))
      >>> x = ricci.device_put(jnp.ones((8, 6)), ricci.NamedSharding(mesh, P("data", "model")))
      >>> ricci.typeof(x)
      ShapedArray(float32[8@data,6@model])

    Notes:
      With ``Explicit`` axes an operation on arrays with incompatible shardings is an error, to be
      resolved by ``reshard``. With ``axis_types=(AxisType.Auto,) * 2`` the compiler decides.

    See also:
      ``Mesh``, for devices in an order of one's own; ``set_mesh``; ``NamedSharding``.
    """
    available = list(all_devices() if devices is None else devices)
    names = checked_names(axis_names, "make_mesh")
    count = prod(axis_sizes)
    if count > len(available):
        raise ValueError(
            f"a mesh of shape {tuple(axis_sizes)} needs {count} devices, but there are "
            f"{len(available)}. Make it smaller."
        )
    available = available[: max(count, 0)]
    sizes = checked_shape(axis_sizes, len(available), "make_mesh", "axis_sizes")
    if len(names) != len(sizes):
        raise ValueError(
            f"make_mesh: axis_sizes={sizes} has {len(sizes)} sizes, but axis_names={names} has "
            f"{len(names)} names. Give one name for each size."
        )
    types = checked_types(names, axis_types, AxisType.Explicit, "make_mesh")
    # In order of preference: each axis of the mesh is made of whole physical axes, whose links form
    # rings; some are parts of one; devices in the order in which they are listed.
    grid = arranged(sizes, available)
    if grid is None:
        grid = arranged(sizes, available, split=True)
    if grid is None:
        grid = in_order(sizes, available)
    return Mesh(grid, names, types)


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
