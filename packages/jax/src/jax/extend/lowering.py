"""The names of ``ricci.extend.lowering``.

Written by tools/drop_in.py.
"""

from ricci.extend.lowering import *
from ricci.extend.lowering import __dir__ as __dir__  # pyright: ignore
from ricci.extend.lowering import __getattr__ as __getattr__  # pyright: ignore
from ricci_ir import export_names as _export_names

_export_names(globals())
