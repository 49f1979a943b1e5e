"""The names of ``ricci.experimental.checkify``.

Written by tools/drop_in.py.
"""

from ricci.experimental.checkify import *  # noqa: F403
from ricci.experimental.checkify import __all__ as __all__
