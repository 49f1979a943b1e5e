"""``jit`` under its earlier name."""

from ricci_ir import guard_public as _guard_public
from ricci_xla import pjit as pjit

_guard_public(globals())
