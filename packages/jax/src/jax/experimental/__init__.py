"""The names of ``ricci.experimental``.

Written by tools/drop_in.py.
"""

from ricci.experimental import *  # noqa: F403
from ricci.experimental import __all__ as __all__
