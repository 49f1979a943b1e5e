"""The names of ``ricci.experimental.ode``.

Written by tools/drop_in.py.
"""

from ricci.experimental.ode import *
from ricci_ir import export_names as _export_names

_export_names(globals())
