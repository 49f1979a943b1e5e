"""The names of ``ricci.dtypes``.

Written by tools/drop_in.py.
"""

from ricci.dtypes import *  # noqa: F403
from ricci.dtypes import __all__ as __all__
