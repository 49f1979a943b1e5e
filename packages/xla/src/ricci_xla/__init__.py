"""Execution of StableHLO on CPU, GPU and TPU by jaxlib: devices, arrays, compiling, dispatch."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from . import _providers as _providers
from ._index import MODULES as _MODULES
from .arrays import *
from .calls import *
from .compile import *
from .devices import *
from .devices import _logging as _logging

# The function of the same name as its room, for type checkers, which would take it for the module.
from .devices import devices as devices
from .meshes import *
from .tracing import *

if _typing.TYPE_CHECKING:
    from .arrays._assembly import *
    from .calls._compiled import *
    from .calls._located import *
    from .calls._stages import *
    from .compile._hlo_computation import *
    from .compile._partitioners import *
    from .devices._coordination import *
    from .devices._environment import *
    from .meshes._arrangement import *
    from .meshes._make_mesh import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
