"""The names of ``ricci.extend.random``.

Written by tools/drop_in.py.
"""

from ricci.extend.random import *  # noqa: F403
from ricci.extend.random import __all__ as __all__
