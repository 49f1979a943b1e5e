"""The names of ``ricci.custom_batching``.

Written by tools/drop_in.py.
"""

from ricci.custom_batching import *  # noqa: F403
from ricci.custom_batching import __all__ as __all__
