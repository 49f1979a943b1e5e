"""Functions that run elsewhere than on a device's main cores."""

from ricci_ir import guard_public as _guard_public
from ricci_parallel import compute_on as compute_on

_guard_public(globals())
