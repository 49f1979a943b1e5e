"""The names of ``ricci.typing``.

Written by tools/drop_in.py.
"""

from ricci.typing import *
from ricci_ir import export_names as _export_names

_export_names(globals())
