"""Arranging devices in grids."""

from ricci_xla import create_device_mesh as create_device_mesh

__all__ = [
    "create_device_mesh",
]
