"""Tools for kernels over blocks of arrays (``ricci.experimental.pallas``): pictures."""

from ricci_ir import guard_public as _guard_public
from ricci_kernels.tools import draw as draw

_guard_public(globals())
