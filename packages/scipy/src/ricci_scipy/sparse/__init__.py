"""Sparse systems: the API of ``jax.scipy.sparse``."""

from ricci_ir import export_names as _export_names

from . import linalg as linalg

_export_names(globals(), "linalg")
