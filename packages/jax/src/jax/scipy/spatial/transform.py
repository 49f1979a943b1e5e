"""The names of ``ricci.scipy.spatial.transform``.

Written by tools/drop_in.py.
"""

from ricci.scipy.spatial.transform import *  # noqa: F403
from ricci.scipy.spatial.transform import __all__ as __all__
