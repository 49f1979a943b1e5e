"""The names of ``ricci.scipy.stats.chi2``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.chi2 import *  # pyright: ignore[reportMissingImports]
from ricci_ir import export_names as _export_names

_export_names(globals())
