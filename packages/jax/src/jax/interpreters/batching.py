"""The names of ``ricci.interpreters.batching``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.batching import *  # noqa: F403
from ricci.interpreters.batching import __all__ as __all__
