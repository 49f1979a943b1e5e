"""Meshes of devices, and how arrays are laid out on them."""

from ricci_xla import AbstractDevice as AbstractDevice
from ricci_xla import AbstractMesh as AbstractMesh
from ricci_xla import AxisType as AxisType
from ricci_xla import Mesh as Mesh
from ricci_xla import NamedSharding as NamedSharding
from ricci_xla import PartitionSpec as PartitionSpec
from ricci_xla import Sharding as Sharding
from ricci_xla import SingleDeviceSharding as SingleDeviceSharding
from ricci_xla import make_single_device_sharding as make_single_device_sharding

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "make_single_device_sharding",
]
