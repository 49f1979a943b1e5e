"""The names of ``ricci.sharding``.

Written by tools/drop_in.py.
"""

from ricci.sharding import *
from ricci_ir import export_names as _export_names

_export_names(globals())
