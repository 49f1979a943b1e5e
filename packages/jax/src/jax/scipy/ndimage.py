"""The names of ``ricci.scipy.ndimage``.

Written by tools/drop_in.py.
"""

from ricci.scipy.ndimage import *  # noqa: F403
from ricci.scipy.ndimage import __all__ as __all__
