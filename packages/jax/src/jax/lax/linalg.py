"""The names of ``ricci.lax.linalg``.

Written by tools/drop_in.py.
"""

from ricci.lax.linalg import *
from ricci_ir import export_names as _export_names

_export_names(globals())
