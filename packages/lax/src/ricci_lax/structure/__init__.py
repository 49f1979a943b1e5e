"""The base of the other modules: shapes, constants, copies, and checks of operand types."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._broadcasting import *
    from ._filling import *
    from ._identity import *
    from ._literals import *
    from ._names import *
    from ._reshaping import *
    from ._resharding import *
    from ._transposing import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
