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
from ._pmap import pmap as pmap
from ._shard_map import shard_map_p as shard_map_p

__all__ = [
    "axis_index",
    "axis_index_p",
    "pmap",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "psum",
    "psum_p",
    "shard_map_p",
]
