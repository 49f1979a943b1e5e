"""The names of ``ricci.scipy.spatial.transform``.

Written by tools/drop_in.py.
"""

from ricci.scipy.spatial.transform import *
from ricci_ir import export_names as _export_names

_export_names(globals())
