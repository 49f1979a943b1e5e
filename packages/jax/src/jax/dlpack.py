"""The names of ``ricci.dlpack``.

Written by tools/drop_in.py.
"""

from ricci.dlpack import *
from ricci_ir import export_names as _export_names

_export_names(globals())
