"""The names of ``ricci.image``.

Written by tools/drop_in.py.
"""

from ricci.image import *  # noqa: F403
from ricci.image import __all__ as __all__
