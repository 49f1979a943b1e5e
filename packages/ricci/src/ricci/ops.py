"""The public names of ``ricci_numpy.ops``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.ops import *

_guard_public(globals())
