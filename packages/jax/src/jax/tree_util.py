"""The names of ``ricci.tree_util``.

Written by tools/drop_in.py.
"""

from ricci.tree_util import *
from ricci.tree_util import __dir__ as __dir__  # pyright: ignore
from ricci.tree_util import __getattr__ as __getattr__  # pyright: ignore
from ricci_ir import export_names as _export_names

_export_names(globals())
