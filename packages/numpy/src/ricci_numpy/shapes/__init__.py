"""Changing shapes, joining and splitting."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._joining import *
    from ._reshaping import *
    from ._splitting import *
    from ._transposing import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
