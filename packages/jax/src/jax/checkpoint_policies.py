"""The names of ``ricci.checkpoint_policies``.

Written by tools/drop_in.py.
"""

from ricci.checkpoint_policies import *
from ricci_ir import export_names as _export_names

_export_names(globals())
