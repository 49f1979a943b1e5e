"""The names of ``ricci.scipy.fft``.

Written by tools/drop_in.py.
"""

from ricci.scipy.fft import *
from ricci_ir import export_names as _export_names

_export_names(globals())
