"""The public names of ``ricci_numpy.linalg``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.linalg import *

_guard_public(globals())
