"""The names of ``ricci.custom_derivatives``.

Written by tools/drop_in.py.
"""

from ricci.custom_derivatives import *  # noqa: F403
from ricci.custom_derivatives import __all__ as __all__
