"""The names of ``ricci.ad``.

Written by tools/drop_in.py.
"""

from ricci.ad import *
from ricci_ir import export_names as _export_names

_export_names(globals())
