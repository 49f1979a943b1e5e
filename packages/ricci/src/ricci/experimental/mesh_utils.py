"""Arranging devices in grids."""

from ricci_ir import export_names as _export_names
from ricci_xla import create_device_mesh as create_device_mesh
from ricci_xla import create_hybrid_device_mesh as create_hybrid_device_mesh
from ricci_xla import device_kind_handler_dict as device_kind_handler_dict

_export_names(globals())
