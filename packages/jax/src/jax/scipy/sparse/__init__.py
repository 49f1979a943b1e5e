"""The names of ``ricci.scipy.sparse``.

Written by tools/drop_in.py.
"""

from ricci.scipy.sparse import *  # noqa: F403
from ricci.scipy.sparse import __all__ as __all__

# isort: split
import jax.scipy.sparse.linalg as linalg  # noqa: F401
