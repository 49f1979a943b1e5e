"""The names of ``ricci_scipy.spatial.transform``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.spatial.transform import *

_guard_public(globals())
