"""Sorting, searching in sorted arrays, and arrays as sets."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._searching import *
    from ._sets import *
    from ._sorting import *
    from ._unique import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
