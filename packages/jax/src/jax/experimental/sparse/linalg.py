"""The names of ``ricci.experimental.sparse.linalg``.

Written by tools/drop_in.py.
"""

from ricci.experimental.sparse.linalg import *
from ricci_ir import export_names as _export_names

_export_names(globals())
