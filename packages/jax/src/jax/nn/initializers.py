"""The names of ``ricci.nn.initializers``.

Written by tools/drop_in.py.
"""

from ricci.nn.initializers import *
from ricci_ir import export_names as _export_names

_export_names(globals())
