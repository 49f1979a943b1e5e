"""The public names of ``ricci_scipy.sparse.linalg``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.sparse.linalg import *

_guard_public(globals())
