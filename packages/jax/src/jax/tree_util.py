"""The names of ``ricci.tree_util``.

Written by tools/drop_in.py.
"""

from ricci.tree_util import *
from ricci_ir import export_names as _export_names

_export_names(globals())
