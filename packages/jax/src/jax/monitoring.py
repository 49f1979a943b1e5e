"""The names of ``ricci.monitoring``.

Written by tools/drop_in.py.
"""

from ricci.monitoring import *  # noqa: F403
from ricci.monitoring import __all__ as __all__
