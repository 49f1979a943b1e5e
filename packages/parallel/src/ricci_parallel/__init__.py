"""Several devices: ``shard_map``, ``pmap``, collectives, the mesh in force, placing arrays."""

from ricci_ir import export_names as _export_names

from . import _placement as _placement
from ._cluster import *
from ._compute_on import *
from ._current_mesh import *
from ._device_put import *
from ._global_arrays import *
from ._layout_constraint import *
from ._pmap import *
from ._reshard import *
from ._sharding_constraint import *
from ._visualize import *
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
from .manual._experimental import experimental_shard_map as experimental_shard_map
from .manual._primitive import shard_map_p as shard_map_p
from .manual._shard_map import Infer as Infer
from .manual._shard_map import shard_map as shard_map
from .manual._smap import smap as smap

_export_names(globals())
