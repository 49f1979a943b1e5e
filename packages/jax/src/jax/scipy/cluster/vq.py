"""The names of ``ricci.scipy.cluster.vq``.

Written by tools/drop_in.py.
"""

from ricci.scipy.cluster.vq import *  # noqa: F403
from ricci.scipy.cluster.vq import __all__ as __all__
