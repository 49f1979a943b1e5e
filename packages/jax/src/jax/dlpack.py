"""The names of ``ricci.dlpack``.

Written by tools/drop_in.py.
"""

from ricci.dlpack import *  # noqa: F403
from ricci.dlpack import __all__ as __all__
