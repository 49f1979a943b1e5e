"""Geometry: the API of ``jax.scipy.spatial``."""

from ricci_ir import export_names as _export_names

from . import transform as transform

_export_names(globals(), "transform")
