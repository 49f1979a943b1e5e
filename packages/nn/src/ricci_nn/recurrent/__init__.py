"""Recurrent layers. Imported on first use."""

from ricci_ir import export_names as _export_names

from ._lstm import *

_export_names(globals())
