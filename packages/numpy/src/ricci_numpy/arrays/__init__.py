"""Creation of arrays from values, files and other libraries; properties of arrays; dtypes."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._broadcasting import *
    from ._buffers import *
    from ._creation import *
    from ._dtypes import *
    from ._filling import *
    from ._interchange import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
