"""What ``checkpoint`` may keep. See ``ricci_lax``."""

from ricci_lax.checkpoint_policies import *  # noqa: F403
from ricci_lax.checkpoint_policies import __all__ as __all__
