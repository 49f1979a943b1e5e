"""The names of ``ricci.dtypes``.

Written by tools/drop_in.py.
"""

from ricci.dtypes import *
from ricci_ir import export_names as _export_names

_export_names(globals())
