"""``jit`` under its earlier name."""

from ricci_ir import export_names as _export_names
from ricci_xla import pjit as pjit

_export_names(globals())
