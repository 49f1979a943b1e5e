"""The names of ``ricci.custom_derivatives``.

Written by tools/drop_in.py.
"""

from ricci.custom_derivatives import *
from ricci_ir import export_names as _export_names

_export_names(globals())
