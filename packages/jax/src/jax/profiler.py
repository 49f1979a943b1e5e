"""The names of ``ricci.profiler``.

Written by tools/drop_in.py.
"""

from ricci.profiler import *
from ricci_ir import export_names as _export_names

_export_names(globals())
