"""Elementwise functions, and factories of those that are one operation."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._arithmetic import *
    from ._binary import *
    from ._comparison import *
    from ._division import *
    from ._float_parts import *
    from ._rounding import *
    from ._signals import *
    from ._unary import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
