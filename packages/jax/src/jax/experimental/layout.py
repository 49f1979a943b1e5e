"""The names of ``ricci.experimental.layout``.

Written by tools/drop_in.py.
"""

from ricci.experimental.layout import *
from ricci_ir import export_names as _export_names

_export_names(globals())
