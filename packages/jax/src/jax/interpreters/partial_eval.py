"""The names of ``ricci.interpreters.partial_eval``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.partial_eval import *
from ricci_ir import export_names as _export_names

_export_names(globals())
