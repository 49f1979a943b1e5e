"""The names of ``ricci.extend.source_info_util``.

Written by tools/drop_in.py.
"""

from ricci.extend.source_info_util import *
from ricci_ir import export_names as _export_names

_export_names(globals())
