"""Ready-made kernels: attention, matrix products, normalizations. See ``ricci_kernels.ops``."""

from ricci_ir import guard_public as _guard_public
from ricci_kernels.ops import *

_guard_public(globals())
