"""Linear algebra: the API of ``jax.numpy.linalg``."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from ._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ricci_numpy.shapes._transposing import matrix_transpose as matrix_transpose

    from ._decompositions import *
    from ._determinants import *
    from ._matrix_functions import *
    from ._norms import *
    from ._solvers import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
