"""The names of ``ricci.random``.

Written by tools/drop_in.py.
"""

from ricci.random import *
from ricci.random import __dir__ as __dir__  # pyright: ignore
from ricci.random import __getattr__ as __getattr__  # pyright: ignore
from ricci_ir import export_names as _export_names

_export_names(globals())
