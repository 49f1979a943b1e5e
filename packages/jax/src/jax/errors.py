"""The names of ``ricci.errors``.

Written by tools/drop_in.py.
"""

from ricci.errors import *  # noqa: F403
from ricci.errors import __all__ as __all__
