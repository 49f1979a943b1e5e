"""Execution of StableHLO on CPU, GPU and TPU by jaxlib: devices, arrays, compiling, dispatch."""

from ricci_ir import export_names as _export_names

from .arrays import *
from .calls import *
from .compile import *
from .devices import *
from .devices import _logging as _logging

# The function of the same name as its room, for type checkers, which would take it for the module.
from .devices import devices as devices
from .meshes import *
from .tracing import *

_export_names(globals())
