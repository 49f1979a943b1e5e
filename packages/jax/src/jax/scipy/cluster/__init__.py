"""The names of ``ricci.scipy.cluster``.

Written by tools/drop_in.py.
"""

from ricci.scipy.cluster import *  # noqa: F403
from ricci.scipy.cluster import __all__ as __all__

# isort: split
import jax.scipy.cluster.vq as vq  # noqa: F401
