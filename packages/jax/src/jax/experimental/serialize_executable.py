"""The names of ``ricci.experimental.serialize_executable``.

Written by tools/drop_in.py.
"""

from ricci.experimental.serialize_executable import *
from ricci_ir import export_names as _export_names

_export_names(globals())
