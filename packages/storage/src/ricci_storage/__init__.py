"""Sharded arrays in files, by TensorStore, which is imported on first use."""

from ricci_ir import export_names as _export_names

from ._arrays import *
from ._manager import *
from ._specs import *
from ._structure import *
from ._trees import *

_export_names(globals())
