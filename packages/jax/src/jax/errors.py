"""The names of ``ricci.errors``.

Written by tools/drop_in.py.
"""

from ricci.errors import *
from ricci_ir import export_names as _export_names

_export_names(globals())
