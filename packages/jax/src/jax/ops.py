"""The names of ``ricci.ops``.

Written by tools/drop_in.py.
"""

from ricci.ops import *  # noqa: F403
from ricci.ops import __all__ as __all__
