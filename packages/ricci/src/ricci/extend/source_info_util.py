"""Which frames are the user's."""

from ricci_ir import export_names as _export_names
from ricci_ir import register_exclusion as register_exclusion

_export_names(globals())
