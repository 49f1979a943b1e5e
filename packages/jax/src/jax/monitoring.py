"""The names of ``ricci.monitoring``.

Written by tools/drop_in.py.
"""

from ricci.monitoring import *
from ricci_ir import export_names as _export_names

_export_names(globals())
