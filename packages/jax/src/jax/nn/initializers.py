"""The names of ``ricci.nn.initializers``.

Written by tools/drop_in.py.
"""

from ricci.nn.initializers import *  # noqa: F403
from ricci.nn.initializers import __all__ as __all__
