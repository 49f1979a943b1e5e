"""Discrete Fourier transforms: the API of ``jax.numpy.fft``."""

from ricci_ir import export_names as _export_names

from ._frequencies import *
from ._transforms import *

_export_names(globals())
