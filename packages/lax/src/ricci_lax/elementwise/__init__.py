"""Elementwise operations, and the factories that define them."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._accuracy import *
    from ._arithmetic import *
    from ._comparison import *
    from ._conversion import *
    from ._linear import *
    from ._piecewise_linear import *
    from ._remainder import *
    from ._rounding import *
    from ._transcendental import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
