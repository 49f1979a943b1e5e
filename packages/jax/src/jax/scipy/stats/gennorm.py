"""The names of ``ricci.scipy.stats.gennorm``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.gennorm import *  # pyright: ignore[reportMissingImports]
from ricci_ir import export_names as _export_names

_export_names(globals())
