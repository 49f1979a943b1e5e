"""The names of ``ricci.extend.source_info_util``.

Written by tools/drop_in.py.
"""

from ricci.extend.source_info_util import *  # noqa: F403
from ricci.extend.source_info_util import __all__ as __all__
