"""Several devices: ``shard_map``, ``pmap``, collectives, the mesh in force, placing arrays."""

from . import _array_moves as _array_moves
from . import _memory_reports as _memory_reports
from . import _placement as _placement
from ._cluster import Cluster as Cluster
from ._cluster import cluster as cluster
from ._compute_on import compute_on as compute_on
from ._compute_on import compute_on_p as compute_on_p
from ._current_mesh import get_abstract_mesh as get_abstract_mesh
from ._current_mesh import get_mesh as get_mesh
from ._current_mesh import set_mesh as set_mesh
from ._current_mesh import use_abstract_mesh as use_abstract_mesh
from ._device_put import device_put as device_put
from ._device_put import device_put_p as device_put_p
from ._device_put_sharded import device_put_replicated as device_put_replicated
from ._device_put_sharded import device_put_sharded as device_put_sharded
from ._global_arrays import global_array_to_host_local_array as global_array_to_host_local_array
from ._global_arrays import (
    global_array_to_host_local_array_impl as global_array_to_host_local_array_impl,
)
from ._global_arrays import global_array_to_host_local_array_p as global_array_to_host_local_array_p
from ._global_arrays import gtl_abstract_eval as gtl_abstract_eval
from ._global_arrays import host_local_array_to_global_array as host_local_array_to_global_array
from ._global_arrays import (
    host_local_array_to_global_array_impl as host_local_array_to_global_array_impl,
)
from ._global_arrays import host_local_array_to_global_array_p as host_local_array_to_global_array_p
from ._global_arrays import ltg_abstract_eval as ltg_abstract_eval
from ._global_arrays import ltg_batcher as ltg_batcher
from ._inspect_sharding import inspect_array_sharding as inspect_array_sharding
from ._inspect_sharding import inspect_sharding_p as inspect_sharding_p
from ._layout_constraint import layout_constraint_p as layout_constraint_p
from ._layout_constraint import with_layout_constraint as with_layout_constraint
from ._pmap import pmap as pmap
from ._reshard import auto_axes as auto_axes
from ._reshard import explicit_axes as explicit_axes
from ._reshard import reshard as reshard
from ._sharding_constraint import sharding_constraint_p as sharding_constraint_p
from ._sharding_constraint import with_sharding_constraint as with_sharding_constraint
from ._visualize import visualize_array_sharding as visualize_array_sharding
from ._visualize import visualize_sharding as visualize_sharding
from .collectives import all_gather as all_gather
from .collectives import all_gather_invariant_p as all_gather_invariant_p
from .collectives import all_gather_p as all_gather_p
from .collectives import all_gather_reduced_p as all_gather_reduced_p
from .collectives import all_to_all as all_to_all
from .collectives import all_to_all_p as all_to_all_p
from .collectives import axis_index as axis_index
from .collectives import axis_index_p as axis_index_p
from .collectives import axis_size as axis_size
from .collectives import pbroadcast as pbroadcast
from .collectives import pbroadcast_p as pbroadcast_p
from .collectives import pcast as pcast
from .collectives import pmax as pmax
from .collectives import pmax_p as pmax_p
from .collectives import pmean as pmean
from .collectives import pmin as pmin
from .collectives import pmin_p as pmin_p
from .collectives import ppermute as ppermute
from .collectives import ppermute_p as ppermute_p
from .collectives import precv as precv
from .collectives import precv_p as precv_p
from .collectives import psend as psend
from .collectives import psend_p as psend_p
from .collectives import pshuffle as pshuffle
from .collectives import psum as psum
from .collectives import psum_invariant_p as psum_invariant_p
from .collectives import psum_p as psum_p
from .collectives import psum_scatter as psum_scatter
from .collectives import pswapaxes as pswapaxes
from .collectives import pvary_p as pvary_p
from .collectives import ragged_all_to_all as ragged_all_to_all
from .collectives import ragged_all_to_all_p as ragged_all_to_all_p
from .collectives import reduce_scatter_p as reduce_scatter_p
from .manual._primitive import shard_map_p as shard_map_p
from .manual._shard_map import Infer as Infer
from .manual._shard_map import shard_map as shard_map
from .manual._shard_map import smap as smap

__all__ = [
    "Cluster",
    "cluster",
    "Infer",
    "all_gather",
    "all_gather_invariant_p",
    "all_gather_p",
    "all_gather_reduced_p",
    "all_to_all",
    "all_to_all_p",
    "auto_axes",
    "axis_index",
    "axis_index_p",
    "axis_size",
    "compute_on",
    "compute_on_p",
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
    "layout_constraint_p",
    "pbroadcast",
    "pbroadcast_p",
    "pcast",
    "pmap",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "ppermute",
    "ppermute_p",
    "precv",
    "precv_p",
    "psend",
    "psend_p",
    "pshuffle",
    "psum",
    "psum_invariant_p",
    "psum_p",
    "psum_scatter",
    "pswapaxes",
    "pvary_p",
    "ragged_all_to_all",
    "ragged_all_to_all_p",
    "reduce_scatter_p",
    "reshard",
    "set_mesh",
    "shard_map",
    "shard_map_p",
    "sharding_constraint_p",
    "smap",
    "use_abstract_mesh",
    "visualize_array_sharding",
    "visualize_sharding",
    "with_layout_constraint",
    "with_sharding_constraint",
]
