"""The names of ``ricci.extend.backend``.

Written by tools/drop_in.py.
"""

from ricci.extend.backend import *  # noqa: F403
from ricci.extend.backend import __all__ as __all__
