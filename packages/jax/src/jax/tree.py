"""The names of ``ricci.tree``.

Written by tools/drop_in.py.
"""

from ricci.tree import *
from ricci.tree import __dir__ as __dir__  # pyright: ignore
from ricci.tree import __getattr__ as __getattr__  # pyright: ignore
from ricci_ir import export_names as _export_names

_export_names(globals())
