"""The names of ``ricci.random``.

Written by tools/drop_in.py.
"""

from ricci.random import *  # noqa: F403
from ricci.random import __all__ as __all__
