"""Histograms, correlations, reductions of segments, softmax and its relatives."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._correlations import *
    from ._histograms import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
