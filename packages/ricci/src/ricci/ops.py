"""Reductions in segments: ``segment_sum``, ``segment_max`` and their kind."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.ops import *

_guard_public(globals())
