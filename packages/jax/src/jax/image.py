"""The names of ``ricci.image``.

Written by tools/drop_in.py.
"""

from ricci.image import *
from ricci_ir import export_names as _export_names

_export_names(globals())
