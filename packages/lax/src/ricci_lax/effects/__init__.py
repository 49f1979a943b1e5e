"""Side effects: their kinds, and the tokens that order them."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._tokens import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
