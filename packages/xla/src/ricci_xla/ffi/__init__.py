"""Foreign functions: registration of compiled functions, and lowering rules that call them."""

from ricci_ir import export_names as _export_names

from ._lowering_rules import *
from ._targets import *

_export_names(globals())
