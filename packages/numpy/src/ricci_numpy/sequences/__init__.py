"""Arrays with regular contents: ranges, grids, triangles, diagonals, positions."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._diagonals import *
    from ._grids import *
    from ._ranges import *
    from ._spaced import *
    from ._triangles import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
