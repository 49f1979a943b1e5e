"""The public names of ``ricci_random``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_random import *

_guard_public(globals())
