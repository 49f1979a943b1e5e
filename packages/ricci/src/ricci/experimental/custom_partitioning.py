"""Operations that a user's function partitions over devices. See ``ricci_parallel``."""

from ricci_ir import guard_public as _guard_public
from ricci_parallel.partitioning import *

_guard_public(globals())
