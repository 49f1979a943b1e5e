"""The names of ``ricci.experimental.array_serialization.serialization``.

Written by tools/drop_in.py.
"""

from ricci.experimental.array_serialization.serialization import *
from ricci_ir import export_names as _export_names

_export_names(globals())
