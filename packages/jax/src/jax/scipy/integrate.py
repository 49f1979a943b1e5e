"""The names of ``ricci.scipy.integrate``.

Written by tools/drop_in.py.
"""

from ricci.scipy.integrate import *
from ricci_ir import export_names as _export_names

_export_names(globals())
