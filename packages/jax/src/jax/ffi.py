"""The names of ``ricci.ffi``.

Written by tools/drop_in.py.
"""

from ricci.ffi import *
from ricci_ir import export_names as _export_names

_export_names(globals())
