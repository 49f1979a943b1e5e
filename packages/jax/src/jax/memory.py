"""The names of ``ricci.memory``.

Written by tools/drop_in.py.
"""

from ricci.memory import *
from ricci_ir import export_names as _export_names

_export_names(globals())
