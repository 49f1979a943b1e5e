"""The names of ``ricci.numpy``.

Written by tools/drop_in.py.
"""

from ricci.numpy import *
from ricci_ir import export_names as _export_names

# isort: split
import jax.numpy.fft as fft
import jax.numpy.linalg as linalg

_export_names(globals(), "fft", "linalg")
