"""The names of ``ricci.experimental.random``.

Written by tools/drop_in.py.
"""

from ricci.experimental.random import *
from ricci_ir import export_names as _export_names

_export_names(globals())
