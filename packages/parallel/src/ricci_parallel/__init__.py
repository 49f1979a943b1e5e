"""Several devices: ``pmap``, collectives, meshes, and the placement of arrays."""

from . import _placement as _placement
from ._collectives import axis_index as axis_index
from ._collectives import axis_index_p as axis_index_p
from ._collectives import pmax as pmax
from ._collectives import pmax_p as pmax_p
from ._collectives import pmean as pmean
from ._collectives import pmin as pmin
from ._collectives import pmin_p as pmin_p
from ._collectives import psum as psum
from ._collectives import psum_p as psum_p
from ._current_mesh import auto_axes as auto_axes
from ._current_mesh import explicit_axes as explicit_axes
from ._current_mesh import get_abstract_mesh as get_abstract_mesh
from ._current_mesh import get_mesh as get_mesh
from ._current_mesh import reshard as reshard
from ._current_mesh import set_mesh as set_mesh
from ._current_mesh import use_abstract_mesh as use_abstract_mesh
from ._device_put import device_put as device_put
from ._device_put import device_put_p as device_put_p
from ._device_put_sharded import device_put_replicated as device_put_replicated
from ._device_put_sharded import device_put_sharded as device_put_sharded
from ._gathering import all_gather as all_gather
from ._gathering import all_to_all as all_to_all
from ._gathering import ppermute as ppermute
from ._gathering import pswapaxes as pswapaxes
from ._inspect_sharding import inspect_array_sharding as inspect_array_sharding
from ._inspect_sharding import inspect_sharding_p as inspect_sharding_p
from ._multihost import assert_equal as assert_equal
from ._multihost import broadcast_one_to_all as broadcast_one_to_all
from ._multihost import global_array_to_host_local_array as global_array_to_host_local_array
from ._multihost import host_local_array_to_global_array as host_local_array_to_global_array
from ._multihost import process_allgather as process_allgather
from ._multihost import reached_preemption_sync_point as reached_preemption_sync_point
from ._multihost import sync_global_devices as sync_global_devices
from ._pmap import pmap as pmap
from ._sharding_constraint import sharding_constraint_p as sharding_constraint_p
from ._sharding_constraint import with_sharding_constraint as with_sharding_constraint
from .manual._primitive import shard_map_p as shard_map_p
from .manual._shard_map import Infer as Infer
from .manual._shard_map import shard_map as shard_map
from .manual._shard_map import smap as smap

__all__ = [
    "all_gather",
    "all_to_all",
    "assert_equal",
    "auto_axes",
    "axis_index",
    "axis_index_p",
    "broadcast_one_to_all",
    "device_put",
    "device_put_p",
    "device_put_replicated",
    "device_put_sharded",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "inspect_array_sharding",
    "inspect_sharding_p",
    "pmap",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "ppermute",
    "process_allgather",
    "psum",
    "psum_p",
    "pswapaxes",
    "reached_preemption_sync_point",
    "reshard",
    "set_mesh",
    "shard_map",
    "shard_map_p",
    "Infer",
    "smap",
    "sharding_constraint_p",
    "sync_global_devices",
    "use_abstract_mesh",
    "with_sharding_constraint",
]
