"""``jit`` under its earlier name."""

from ricci_ir import export_names as _export_names
from ricci_xla import jit as _jit

pjit = _jit

_export_names(globals())
