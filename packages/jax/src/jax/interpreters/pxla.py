"""The names of ``ricci.interpreters.pxla``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.pxla import *
from ricci_ir import export_names as _export_names

_export_names(globals())
