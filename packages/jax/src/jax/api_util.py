"""The names of ``ricci.api_util``.

Written by tools/drop_in.py.
"""

from ricci.api_util import *
from ricci_ir import export_names as _export_names

_export_names(globals())
