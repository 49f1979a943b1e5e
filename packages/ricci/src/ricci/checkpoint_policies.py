"""What ``checkpoint`` may keep. See ``ricci_lax``."""

from ricci_ir import export_names as _export_names
from ricci_lax.checkpoint_policies import *

_export_names(globals())
