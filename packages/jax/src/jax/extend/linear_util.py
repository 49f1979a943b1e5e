"""The names of ``ricci.extend.linear_util``.

Written by tools/drop_in.py.
"""

from ricci.extend.linear_util import *  # noqa: F403
from ricci.extend.linear_util import __all__ as __all__
