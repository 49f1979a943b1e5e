"""The names of ``ricci.test_util``.

Written by tools/drop_in.py.
"""

from ricci.test_util import *  # noqa: F403
from ricci.test_util import __all__ as __all__
