"""The names of ``ricci.experimental.mesh_utils``.

Written by tools/drop_in.py.
"""

from ricci.experimental.mesh_utils import *
from ricci_ir import export_names as _export_names

_export_names(globals())
