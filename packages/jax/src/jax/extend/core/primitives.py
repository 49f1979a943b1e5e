"""The names of ``ricci.extend.core.primitives``.

Written by tools/drop_in.py.
"""

from ricci.extend.core.primitives import *  # noqa: F403
from ricci.extend.core.primitives import __all__ as __all__
