"""The names of ``ricci.core``.

Written by tools/drop_in.py.
"""

from ricci.core import *
from ricci_ir import export_names as _export_names

_export_names(globals())
