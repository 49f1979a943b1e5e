"""What ``checkpoint`` may keep. See ``ricci_lax``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.checkpoint_policies import *

_guard_public(globals(), classes=False)
