"""Stateful generators, which count their calls. Imported on first use."""

from ricci_ir import export_names as _export_names

from ._generator import *

_export_names(globals())
