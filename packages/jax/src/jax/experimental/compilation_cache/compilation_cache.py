"""The names of ``ricci.experimental.compilation_cache.compilation_cache``.

Written by tools/drop_in.py.
"""

from ricci.experimental.compilation_cache.compilation_cache import *
from ricci_ir import export_names as _export_names

_export_names(globals())
