"""Arranging devices in grids."""

from ricci_ir import export_names as _export_names
from ricci_xla import create_device_mesh as create_device_mesh

_export_names(globals())
