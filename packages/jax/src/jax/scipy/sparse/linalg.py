"""The names of ``ricci.scipy.sparse.linalg``.

Written by tools/drop_in.py.
"""

from ricci.scipy.sparse.linalg import *  # noqa: F403
from ricci.scipy.sparse.linalg import __all__ as __all__
