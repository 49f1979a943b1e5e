"""Foreign functions: registration of compiled functions."""

from ricci_ir import export_names as _export_names

from ._targets import *

_export_names(globals())
