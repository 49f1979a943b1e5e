"""The names of ``ricci.custom_batching``.

Written by tools/drop_in.py.
"""

from ricci.custom_batching import *
from ricci_ir import export_names as _export_names

_export_names(globals())
