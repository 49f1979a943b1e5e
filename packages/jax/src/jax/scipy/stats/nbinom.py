"""The names of ``ricci.scipy.stats.nbinom``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.nbinom import *  # pyright: ignore[reportMissingImports]
from ricci_ir import export_names as _export_names

_export_names(globals())
