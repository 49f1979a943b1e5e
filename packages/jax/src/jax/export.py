"""The names of ``ricci.export``.

Written by tools/drop_in.py.
"""

from ricci.export import *
from ricci_ir import export_names as _export_names

_export_names(globals())
