"""Linear algebra: the API of ``jax.numpy.linalg``."""

from ricci_ir import export_names as _export_names
from ricci_numpy.shapes._transposing import matrix_transpose as matrix_transpose

from ._decompositions import *
from ._determinants import *
from ._matrix_functions import *
from ._norms import *
from ._solvers import *

_export_names(globals())
