"""Special functions: error, gamma, beta and Bessel functions."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._functions import *
    from ._incomplete_beta import *
    from ._incomplete_gamma import *
    from ._polynomial import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
