"""The names of ``ricci.lax``.

Written by tools/drop_in.py.
"""

from ricci.lax import *  # noqa: F403
from ricci.lax import __all__ as __all__

# isort: split
import jax.lax.linalg as linalg  # noqa: F401
