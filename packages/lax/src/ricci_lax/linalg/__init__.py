"""Linear algebra: factorisations, solvers and their derivatives, on batches of matrices."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from ._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._cholesky import *
    from ._eig import *
    from ._eigh import *
    from ._householder import *
    from ._lu import *
    from ._polar import *
    from ._qr import *
    from ._schur import *
    from ._svd import *
    from ._triangular_solve import *
    from ._tridiagonal import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
