"""The names of ``ricci.extend.mlir.dialects``.

Written by tools/drop_in.py.
"""

from ricci.extend.mlir.dialects import *
from ricci.extend.mlir.dialects import __dir__ as __dir__  # pyright: ignore
from ricci.extend.mlir.dialects import __getattr__ as __getattr__  # pyright: ignore
from ricci.extend.mlir.dialects import __path__ as __path__  # pyright: ignore
from ricci_ir import export_names as _export_names

_export_names(globals())
