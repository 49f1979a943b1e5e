"""The names of ``ricci.extend.linear_util``.

Written by tools/drop_in.py.
"""

from ricci.extend.linear_util import *
from ricci_ir import export_names as _export_names

_export_names(globals())
