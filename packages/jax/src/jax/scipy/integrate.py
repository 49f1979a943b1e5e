"""The names of ``ricci.scipy.integrate``.

Written by tools/drop_in.py.
"""

from ricci.scipy.integrate import *  # noqa: F403
from ricci.scipy.integrate import __all__ as __all__
