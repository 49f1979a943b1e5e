"""The public names of ``ricci_numpy.fft``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.fft import *

_guard_public(globals())
