"""The names of ``ricci.debug``.

Written by tools/drop_in.py.
"""

from ricci.debug import *  # noqa: F403
from ricci.debug import __all__ as __all__
