"""The names of ``ricci.experimental.layout``.

Written by tools/drop_in.py.
"""

from ricci.experimental.layout import *  # noqa: F403
from ricci.experimental.layout import __all__ as __all__
