"""The names of ``ricci.experimental.sparse.coo``.

Written by tools/drop_in.py.
"""

from ricci.experimental.sparse.coo import *
from ricci_ir import export_names as _export_names

_export_names(globals())
