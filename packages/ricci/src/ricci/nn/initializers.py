"""The public names of ``ricci_nn.initializers``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_nn.initializers import *

_guard_public(globals())
