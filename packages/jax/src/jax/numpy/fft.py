"""The names of ``ricci.numpy.fft``.

Written by tools/drop_in.py.
"""

from ricci.numpy.fft import *
from ricci_ir import export_names as _export_names

_export_names(globals())
