"""The names of ``ricci.debug``.

Written by tools/drop_in.py.
"""

from ricci.debug import *
from ricci_ir import export_names as _export_names

_export_names(globals())
