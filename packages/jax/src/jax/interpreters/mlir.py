"""The names of ``ricci.interpreters.mlir``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.mlir import *
from ricci_ir import export_names as _export_names

_export_names(globals())
