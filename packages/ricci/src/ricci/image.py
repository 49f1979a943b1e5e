"""The public names of ``ricci_nn.image``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_nn.image import *

_guard_public(globals())
