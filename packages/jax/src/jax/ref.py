"""The names of ``ricci.ref``.

Written by tools/drop_in.py.
"""

from ricci.ref import *
from ricci_ir import export_names as _export_names

_export_names(globals())
