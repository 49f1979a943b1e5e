"""The public names of ``ricci_numpy.dlpack``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.dlpack import *

_guard_public(globals())
