"""The names of ``ricci.experimental.xla_metadata``.

Written by tools/drop_in.py.
"""

from ricci.experimental.xla_metadata import *
from ricci_ir import export_names as _export_names

_export_names(globals())
