"""The names of ``ricci.experimental.pjit``.

Written by tools/drop_in.py.
"""

from ricci.experimental.pjit import *  # noqa: F403
from ricci.experimental.pjit import __all__ as __all__
