"""The names of ``ricci.experimental.mesh_utils``.

Written by tools/drop_in.py.
"""

from ricci.experimental.mesh_utils import *  # noqa: F403
from ricci.experimental.mesh_utils import __all__ as __all__
