"""The names of ``ricci.scipy.interpolate``.

Written by tools/drop_in.py.
"""

from ricci.scipy.interpolate import *
from ricci_ir import export_names as _export_names

_export_names(globals())
