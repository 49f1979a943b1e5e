"""Derivatives of functions: Jacobians, rematerialisation, and the residuals of reverse mode."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._checkpoint import *
    from ._jacobian import *
    from ._recomputation import *
    from ._residuals import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
