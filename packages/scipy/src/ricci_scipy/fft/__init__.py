"""Cosine transforms: the API of ``jax.scipy.fft``."""

from ricci_ir import export_names as _export_names

from ._cosine import *

_export_names(globals())
