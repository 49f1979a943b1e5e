"""The names of ``ricci.ad_checkpoint``.

Written by tools/drop_in.py.
"""

from ricci.ad_checkpoint import *  # noqa: F403
from ricci.ad_checkpoint import __all__ as __all__
