"""The names of ``ricci.sharding``.

Written by tools/drop_in.py.
"""

from ricci.sharding import *  # noqa: F403
from ricci.sharding import __all__ as __all__
