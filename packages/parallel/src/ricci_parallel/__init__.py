"""Spreading work over devices: ``pmap`` and collectives."""

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
from ._device_put import device_put as device_put
from ._device_put import device_put_p as device_put_p
from ._inspect_sharding import inspect_array_sharding as inspect_array_sharding
from ._inspect_sharding import inspect_sharding_p as inspect_sharding_p
from ._pmap import pmap as pmap
from ._shard_map import shard_map_p as shard_map_p
from ._sharding_constraint import sharding_constraint_p as sharding_constraint_p
from ._sharding_constraint import with_sharding_constraint as with_sharding_constraint
from ._stacked import device_put_replicated as device_put_replicated
from ._stacked import device_put_sharded as device_put_sharded

__all__ = [
    "axis_index",
    "axis_index_p",
    "device_put",
    "device_put_p",
    "device_put_replicated",
    "device_put_sharded",
    "inspect_array_sharding",
    "inspect_sharding_p",
    "pmap",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "psum",
    "psum_p",
    "shard_map_p",
    "sharding_constraint_p",
    "with_sharding_constraint",
]
