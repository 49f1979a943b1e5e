"""The names of ``ricci.extend.mlir.dialects``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.extend.mlir.dialects import *
from ricci_ir import export_names as _export_names

_export_names(globals())

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.extend.mlir.dialects import __dir__ as __dir__
    from ricci.extend.mlir.dialects import __getattr__ as __getattr__
    from ricci.extend.mlir.dialects import __path__ as __path__
