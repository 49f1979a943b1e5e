"""The names of ``ricci.experimental.sparse.bcoo``.

Written by tools/drop_in.py.
"""

from ricci.experimental.sparse.bcoo import *
from ricci_ir import export_names as _export_names

_export_names(globals())
