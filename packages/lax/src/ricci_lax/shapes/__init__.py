"""Joining, slicing, gather and scatter."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._dimension_numbers import *
    from ._dynamic_slicing import *
    from ._dynamic_slicing_in_dim import *
    from ._gather import *
    from ._joining import *
    from ._rearranging import *
    from ._scatter import *
    from ._scatter_apply import *
    from ._slicing import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
