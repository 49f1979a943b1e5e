"""The memories in which devices hold arrays."""

from ricci_ir import export_names as _export_names
from ricci_xla import MemorySpace as _MemorySpace

Space = _MemorySpace

_export_names(globals())
