"""The names of ``ricci.stages``.

Written by tools/drop_in.py.
"""

from ricci.stages import *  # noqa: F403
from ricci.stages import __all__ as __all__
