"""The names of ``ricci.experimental.sparse.api``.

Written by tools/drop_in.py.
"""

from ricci.experimental.sparse.api import *
from ricci_ir import export_names as _export_names

_export_names(globals())
