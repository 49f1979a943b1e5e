"""Arranging devices in grids."""

from ricci_ir import guard_public as _guard_public
from ricci_xla import create_device_mesh as create_device_mesh
from ricci_xla import create_hybrid_device_mesh as create_hybrid_device_mesh
from ricci_xla import device_kind_handler_dict as device_kind_handler_dict

_guard_public(globals())
