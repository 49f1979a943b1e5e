"""CSR and CSC matrices."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.csr import *

_guard_public(globals())
