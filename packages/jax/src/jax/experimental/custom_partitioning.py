"""The names of ``ricci.experimental.custom_partitioning``.

Written by tools/drop_in.py.
"""

from ricci.experimental.custom_partitioning import *
from ricci_ir import export_names as _export_names

_export_names(globals())
