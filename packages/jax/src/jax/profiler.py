"""The names of ``ricci.profiler``.

Written by tools/drop_in.py.
"""

from ricci.profiler import *  # noqa: F403
from ricci.profiler import __all__ as __all__
