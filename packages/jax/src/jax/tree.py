"""The names of ``ricci.tree``.

Written by tools/drop_in.py.
"""

from ricci.tree import *
from ricci_ir import export_names as _export_names

_export_names(globals())
