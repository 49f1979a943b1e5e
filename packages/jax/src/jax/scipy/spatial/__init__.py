"""The names of ``ricci.scipy.spatial``.

Written by tools/drop_in.py.
"""

from ricci.scipy.spatial import *  # noqa: F403
from ricci.scipy.spatial import __all__ as __all__

# isort: split
import jax.scipy.spatial.transform as transform  # noqa: F401
