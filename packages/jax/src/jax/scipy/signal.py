"""The names of ``ricci.scipy.signal``.

Written by tools/drop_in.py.
"""

from ricci.scipy.signal import *  # noqa: F403
from ricci.scipy.signal import __all__ as __all__
