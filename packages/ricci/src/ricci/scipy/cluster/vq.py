"""Vector quantization: the nearest code of each observation, ``vq``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.cluster.vq import *

_guard_public(globals())
