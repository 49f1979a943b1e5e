"""The names of ``ricci.extend.xla``.

Written by tools/drop_in.py.
"""

from ricci.extend.xla import *
from ricci_ir import export_names as _export_names

_export_names(globals())
