"""Linear algebra: the API of ``jax.scipy.linalg``."""

from ricci_ir import export_names as _export_names

from ._factors import *
from ._matrices_of_sizes import *
from ._matrix_functions import *
from ._schur import *
from ._special_matrices import *
from ._systems import *
from ._tridiagonal import *

_export_names(globals())
