"""Batching: apply a function of one example to a whole batch at once."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from ._index import MODULES as _MODULES
from ._rules import *

if _typing.TYPE_CHECKING:
    from ._mapped_axes import *
    from ._trace import *
    from ._vmap import *
    from ._vmappable import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
