"""The names of ``ricci.scipy.stats.wrapcauchy``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.wrapcauchy import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.wrapcauchy import __all__ as __all__  # pyright: ignore[reportMissingImports]
