"""Clustering: the API of ``jax.scipy.cluster``."""

from ricci_ir import export_names as _export_names

from . import vq as vq

_export_names(globals(), "vq")
