"""The names of ``ricci.tree``.

Written by tools/drop_in.py.
"""

from ricci.tree import *  # noqa: F403
from ricci.tree import __all__ as __all__
