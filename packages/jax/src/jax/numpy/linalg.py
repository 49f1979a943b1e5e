"""The names of ``ricci.numpy.linalg``.

Written by tools/drop_in.py.
"""

from ricci.numpy.linalg import *  # noqa: F403
from ricci.numpy.linalg import __all__ as __all__
