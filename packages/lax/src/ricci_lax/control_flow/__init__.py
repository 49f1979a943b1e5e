"""Loops, branches, and solvers that are differentiated implicitly."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._cond import *
    from ._custom_root import *
    from ._fori_loop import *
    from ._linear_solve import *
    from ._loops import *
    from ._map import *
    from ._platform import *
    from ._scan import *
    from ._sequential_vmap import *
    from ._while import *
    from ._while_loop import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
