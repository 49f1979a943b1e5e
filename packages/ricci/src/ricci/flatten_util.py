"""The public names of ``ricci_numpy.flatten_util``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.flatten_util import *

_guard_public(globals())
