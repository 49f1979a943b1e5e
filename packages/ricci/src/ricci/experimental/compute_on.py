"""Functions that are computed elsewhere than on a device's main cores."""

from ricci_ir import export_names as _export_names
from ricci_parallel import compute_on as compute_on

_export_names(globals())
