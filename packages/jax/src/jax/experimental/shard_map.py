"""The names of ``ricci.experimental.shard_map``.

Written by tools/drop_in.py.
"""

from ricci.experimental.shard_map import *  # noqa: F403
from ricci.experimental.shard_map import __all__ as __all__
