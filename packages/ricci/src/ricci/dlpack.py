"""Arrays exchanged with other libraries by the DLPack protocol: ``from_dlpack``."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.dlpack import *

_guard_public(globals())
