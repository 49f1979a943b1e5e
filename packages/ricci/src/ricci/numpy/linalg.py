"""Linear algebra: products, decompositions, eigenvalues, norms, solving of equations."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.linalg import *

_guard_public(globals())
