"""The names of ``ricci.interpreters.mlir``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.interpreters.mlir import *
from ricci_ir import export_names as _export_names

_export_names(globals())

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.interpreters.mlir import __dir__ as __dir__
    from ricci.interpreters.mlir import __getattr__ as __getattr__
