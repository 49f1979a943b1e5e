"""Reductions over axes and windows, cumulative sums, and sorting."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._approximate_top_k import *
    from ._arg_extrema import *
    from ._axis_reductions import *
    from ._cumulative import *
    from ._reduce import *
    from ._sorting import *
    from ._window_selection import *
    from ._window_shape import *
    from ._windows import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
