"""Random sparse arrays."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse import random_bcoo as random_bcoo

_guard_public(globals())
