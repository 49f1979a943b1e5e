"""The names of ``ricci.scipy.ndimage``.

Written by tools/drop_in.py.
"""

from ricci.scipy.ndimage import *
from ricci_ir import export_names as _export_names

_export_names(globals())
