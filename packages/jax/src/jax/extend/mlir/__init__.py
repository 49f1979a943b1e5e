"""The names of ``ricci.extend.mlir``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.extend.mlir import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import dialects as dialects
else:
    import jax.extend.mlir.dialects as dialects

_export_names(globals(), "dialects")

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.extend.mlir import __dir__ as __dir__
    from ricci.extend.mlir import __getattr__ as __getattr__
