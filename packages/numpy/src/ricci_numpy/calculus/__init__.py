"""Functions represented by samples or coefficients: differences, interpolation, polynomials."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._convolution import *
    from ._fitting import *
    from ._polynomials import *
    from ._samples import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
