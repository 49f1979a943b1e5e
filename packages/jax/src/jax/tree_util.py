"""The names of ``ricci.tree_util``.

Written by tools/drop_in.py.
"""

from ricci.tree_util import *  # noqa: F403
from ricci.tree_util import __all__ as __all__
