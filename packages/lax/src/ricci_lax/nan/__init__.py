"""``find_nan``: find the operation that a NaN or an infinity comes from."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._find import *
    from ._report import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
