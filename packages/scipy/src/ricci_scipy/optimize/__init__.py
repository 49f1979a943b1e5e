"""Optimization: the API of ``jax.scipy.optimize``."""

from ricci_ir import export_names as _export_names

from ._minimizing import *

_export_names(globals())
