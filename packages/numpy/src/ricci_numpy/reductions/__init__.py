"""Reductions over axes: sums, extremes, means and variances, quantiles, cumulative sums."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._averages import *
    from ._axis_reductions import *
    from ._cumulative import *
    from ._extreme_indices import *
    from ._moments import *
    from ._nan_functions import *
    from ._quantiles import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
