"""The names of ``ricci.lax.linalg``.

Written by tools/drop_in.py.
"""

from ricci.lax.linalg import *  # noqa: F403
from ricci.lax.linalg import __all__ as __all__
