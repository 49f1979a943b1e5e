"""The names of ``ricci.scipy.linalg``.

Written by tools/drop_in.py.
"""

from ricci.scipy.linalg import *  # noqa: F403
from ricci.scipy.linalg import __all__ as __all__
