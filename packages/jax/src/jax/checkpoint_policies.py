"""The names of ``ricci.checkpoint_policies``.

Written by tools/drop_in.py.
"""

from ricci.checkpoint_policies import *  # noqa: F403
from ricci.checkpoint_policies import __all__ as __all__
