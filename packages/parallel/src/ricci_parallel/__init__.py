"""Several devices: ``shard_map``, ``pmap``, collectives, the mesh in force, placing arrays."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from . import _providers as _providers
from ._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
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
    from .collectives import *
    from .manual._experimental import experimental_shard_map as experimental_shard_map
    from .manual._primitive import shard_map_p as shard_map_p
    from .manual._shard_map import Infer as Infer
    from .manual._shard_map import shard_map as shard_map
    from .manual._smap import smap as smap
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
