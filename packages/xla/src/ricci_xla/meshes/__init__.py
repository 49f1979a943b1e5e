"""Meshes of devices, and shardings of arrays over them."""

from ._abstract_mesh import *
from ._axes import *
from ._current_mesh import *
from ._encodings import *
from ._mesh import *
from ._shard_shapes import *
from ._sharding import *
from ._sharding_types import *
from ._spec import *
from ._type_forms import *
