"""The names of ``ricci.scipy.optimize``.

Written by tools/drop_in.py.
"""

from ricci.scipy.optimize import *  # noqa: F403
from ricci.scipy.optimize import __all__ as __all__
