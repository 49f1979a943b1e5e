"""The names of ``ricci.ops``.

Written by tools/drop_in.py.
"""

from ricci.ops import *
from ricci_ir import export_names as _export_names

_export_names(globals())
