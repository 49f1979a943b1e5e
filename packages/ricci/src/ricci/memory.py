"""The memory spaces of devices."""

from ricci_ir import guard_public as _guard_public
from ricci_xla import MemorySpace as _MemorySpace

Space = _MemorySpace

_guard_public(globals())
