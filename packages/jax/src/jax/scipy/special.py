"""The names of ``ricci.scipy.special``.

Written by tools/drop_in.py.
"""

from ricci.scipy.special import *  # noqa: F403
from ricci.scipy.special import __all__ as __all__
