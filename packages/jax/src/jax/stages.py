"""The names of ``ricci.stages``.

Written by tools/drop_in.py.
"""

from ricci.stages import *
from ricci_ir import export_names as _export_names

_export_names(globals())
