"""The names of ``ricci.interpreters.mlir``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.mlir import *
from ricci.interpreters.mlir import __dir__ as __dir__  # pyright: ignore
from ricci.interpreters.mlir import __getattr__ as __getattr__  # pyright: ignore
from ricci_ir import export_names as _export_names

_export_names(globals())
