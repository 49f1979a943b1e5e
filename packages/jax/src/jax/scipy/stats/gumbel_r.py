"""The names of ``ricci.scipy.stats.gumbel_r``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.gumbel_r import *  # pyright: ignore[reportMissingImports]
from ricci_ir import export_names as _export_names

_export_names(globals())
