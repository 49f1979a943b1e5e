"""The names of ``ricci.extend.pallas``.

Written by tools/drop_in.py.
"""

from ricci.extend.pallas import *
from ricci_ir import export_names as _export_names

_export_names(globals())
