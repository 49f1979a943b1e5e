"""Meshes of devices, and how arrays are laid out on them."""

import typing as _typing

from ricci._absent import or_advise as _or_advise
from ricci_ir import ManualAxisType as ManualAxisType
from ricci_ir import UnreducedKind as UnreducedKind
from ricci_ir import guard_lazily as _guard_lazily
from ricci_ir import guard_public as _guard_public
from ricci_xla import AbstractDevice as AbstractDevice
from ricci_xla import AbstractMesh as AbstractMesh
from ricci_xla import AxisType as AxisType
from ricci_xla import Mesh as Mesh
from ricci_xla import NamedSharding as NamedSharding
from ricci_xla import PartitionSpec as PartitionSpec
from ricci_xla import Sharding as Sharding
from ricci_xla import SingleDeviceSharding as SingleDeviceSharding
from ricci_xla import make_single_device_sharding as make_single_device_sharding

_guard_public(globals())

if _typing.TYPE_CHECKING:
    from ricci_parallel import auto_axes as auto_axes
    from ricci_parallel import explicit_axes as explicit_axes
    from ricci_parallel import get_abstract_mesh as get_abstract_mesh
    from ricci_parallel import get_mesh as get_mesh
    from ricci_parallel import reshard as reshard
    from ricci_parallel import set_mesh as set_mesh
    from ricci_parallel import use_abstract_mesh as use_abstract_mesh
else:
    _load, __dir__ = _guard_lazily(
        globals(),
        {
            "ricci_parallel": (
                "auto_axes explicit_axes get_abstract_mesh get_mesh reshard set_mesh "
                "use_abstract_mesh"
            ).split()
        },
    )
    __getattr__ = _or_advise(__name__, _load)
