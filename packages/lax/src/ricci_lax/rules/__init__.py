"""The kinds of rules that this package adds to those of a primitive."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._checkify import *
    from ._saving import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
