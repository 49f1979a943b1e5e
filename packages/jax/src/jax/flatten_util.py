"""The names of ``ricci.flatten_util``.

Written by tools/drop_in.py.
"""

from ricci.flatten_util import *  # noqa: F403
from ricci.flatten_util import __all__ as __all__
