"""The names of ``ricci.scipy.interpolate``.

Written by tools/drop_in.py.
"""

from ricci.scipy.interpolate import *  # noqa: F403
from ricci.scipy.interpolate import __all__ as __all__
