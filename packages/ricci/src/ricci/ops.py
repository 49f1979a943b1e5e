"""Reductions in segments: ``segment_sum``, ``segment_max`` and their kind."""

from ricci._absent import or_advise as _or_advise
from ricci_ir import guard_public as _guard_public
from ricci_numpy.ops import *

_guard_public(globals())
globals()["__getattr__"] = _or_advise(__name__)  # not seen by checkers, which know the names
