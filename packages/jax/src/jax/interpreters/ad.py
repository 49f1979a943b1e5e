"""The names of ``ricci.interpreters.ad``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.ad import *  # noqa: F403
from ricci.interpreters.ad import __all__ as __all__
