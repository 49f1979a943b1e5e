"""The names of ``ricci.extend.core``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.extend.core import *
from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import primitives as primitives

_export_names(globals())

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "primitives": ".primitives",
        },
    )
