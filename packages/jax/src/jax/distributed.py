"""The names of ``ricci.distributed``.

Written by tools/drop_in.py.
"""

from ricci.distributed import *
from ricci_ir import export_names as _export_names

_export_names(globals())
