"""The names of ``ricci.api_util``.

Written by tools/drop_in.py.
"""

from ricci.api_util import *  # noqa: F403
from ricci.api_util import __all__ as __all__
