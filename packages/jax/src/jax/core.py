"""The names of ``ricci.core``.

Written by tools/drop_in.py.
"""

from ricci.core import *  # noqa: F403
from ricci.core import __all__ as __all__
