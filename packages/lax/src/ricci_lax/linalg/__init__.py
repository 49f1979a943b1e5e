"""Linear algebra: factorisations, solvers and their derivatives, on batches of matrices."""

from ricci_ir import export_names as _export_names

from ._cholesky import *
from ._eig import *
from ._eigh import *
from ._lu import *
from ._polar import *
from ._qr import *
from ._schur import *
from ._svd import *
from ._triangular_solve import *
from ._tridiagonal import *

_export_names(globals())
