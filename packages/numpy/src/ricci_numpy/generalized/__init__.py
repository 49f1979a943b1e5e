"""Elementwise functions with NumPy's ufunc methods, and ``vectorize``."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._mapping import *
    from ._ufunc_objects import *
    from ._ufunc_table import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
