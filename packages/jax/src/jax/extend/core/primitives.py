"""The names of ``ricci.extend.core.primitives``.

Written by tools/drop_in.py.
"""

from ricci.extend.core.primitives import *
from ricci_ir import export_names as _export_names

_export_names(globals())
