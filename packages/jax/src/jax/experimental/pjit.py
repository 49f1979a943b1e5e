"""The names of ``ricci.experimental.pjit``.

Written by tools/drop_in.py.
"""

from ricci.experimental.pjit import *
from ricci_ir import export_names as _export_names

_export_names(globals())
