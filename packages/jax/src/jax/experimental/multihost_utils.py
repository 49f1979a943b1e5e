"""The names of ``ricci.experimental.multihost_utils``.

Written by tools/drop_in.py.
"""

from ricci.experimental.multihost_utils import *  # noqa: F403
from ricci.experimental.multihost_utils import __all__ as __all__
