"""The names of ``ricci.experimental.sparse.bcsr``.

Written by tools/drop_in.py.
"""

from ricci.experimental.sparse.bcsr import *
from ricci_ir import export_names as _export_names

_export_names(globals())
