"""The current meshes of a thread, and the shardings that a bare ``PartitionSpec`` means with them.

There are three settings. ``ricci_ir.current_mesh`` has the axes that jaxprs refer to;
``device_mesh`` has the devices that executables run on. ``set_mesh`` sets both, and
``use_abstract_mesh`` the first alone. The third, ``entered_mesh()``, is that of a ``with mesh:``
block, which only affects the meaning of specs.
"""

from functools import lru_cache

import numpy as np

from ricci_ir import current_mesh
from ricci_xla.devices import device_mesh, get_default_device

from ._abstract_mesh import AbstractMesh
from ._mesh import Mesh, entered_mesh
from ._sharding import single_device_sharding
from ._sharding_types import NamedSharding, Sharding
from ._spec import PartitionSpec

__all__ = ["default_sharding", "empty_abstract_mesh", "empty_mesh", "on_set_devices"]
__all__ += ["sharding_in_program", "sharding_on_devices", "with_set_devices"]

empty_mesh: Mesh = Mesh(np.empty((), dtype=object), ())
empty_abstract_mesh: AbstractMesh = AbstractMesh((), ())


def sharding_in_program(
    spec: PartitionSpec, user: str, error: type[Exception] = RuntimeError
) -> NamedSharding:
    """The sharding of a traced value by a spec alone.

    With ``set_mesh`` its mesh has no devices: a jaxpr serves all meshes with the same axes.

    Args:
      spec: the spec.
      user: the function that takes the spec, for the error.
      error: the error to raise without a mesh.
    """
    mesh = current_mesh.value
    return _named(entered_mesh() if mesh is None else mesh, spec, user, error)


def sharding_on_devices(
    spec: PartitionSpec, user: str, error: type[Exception] = RuntimeError
) -> NamedSharding:
    """The sharding of an array by a spec alone; see ``sharding_in_program``."""
    mesh = device_mesh.value
    return _named(entered_mesh() if mesh is None else mesh, spec, user, error)


def _named(
    mesh: Mesh | AbstractMesh | None, spec: PartitionSpec, user: str, error: type[Exception]
) -> NamedSharding:
    if mesh is None:
        raise error(
            f"{user}: the PartitionSpec {spec} needs a mesh, but no mesh is set. Call it inside "
            "`with set_mesh(mesh):`, or give NamedSharding(mesh, spec)."
        )
    return NamedSharding(mesh, spec)


def on_set_devices(axes: AbstractMesh) -> Mesh | None:
    """The devices of the mesh of ``set_mesh`` in a grid of other axes, or ``None`` if unequal."""
    mesh = device_mesh.value
    # With as many devices, the axes are another grid of the mesh that is set, in the same order.
    if mesh is None or mesh.size != axes.size:
        return None
    return mesh if mesh.abstract_mesh == axes else arranged_as(mesh, axes)


@lru_cache(maxsize=64)
def arranged_as(mesh: Mesh, axes: AbstractMesh) -> Mesh:
    """The devices of a mesh in a grid of other axes."""
    return Mesh(mesh.devices.reshape(axes.axis_sizes), axes.axis_names, axes.axis_types)


def with_set_devices(sharding: NamedSharding, user: str) -> NamedSharding:
    """Move a sharding on an abstract mesh to the devices of the mesh of ``set_mesh``.

    Args:
      sharding: the sharding.
      user: the function that takes the sharding, for the error.

    Raises:
      ValueError: if no mesh of as many devices is set.
    """
    mesh = on_set_devices(sharding.mesh.abstract_mesh)
    if mesh is None:
        raise ValueError(
            f"{user}: {sharding} has no devices, and no mesh with as many is set. Call it inside "
            "`with set_mesh(mesh):`, or give NamedSharding(mesh, spec) with a mesh of devices."
        )
    return sharding.update(mesh=mesh)


def default_sharding() -> Sharding:
    """The sharding of new arrays: replicated over the mesh of ``set_mesh``, or the default device.

    Only to the former are the arrays committed.
    """
    mesh = device_mesh.value
    return single_device_sharding(get_default_device()) if mesh is None else _replicated(mesh)


@lru_cache(maxsize=64)
def _replicated(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec())
