"""References: mutable arrays."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from ._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._copying import *
    from ._functions import *
    from ._primitives import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
