"""The names of ``ricci.experimental.compute_on``.

Written by tools/drop_in.py.
"""

from ricci.experimental.compute_on import *
from ricci_ir import export_names as _export_names

_export_names(globals())
