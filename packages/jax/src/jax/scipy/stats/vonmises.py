"""The names of ``ricci.scipy.stats.vonmises``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.vonmises import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.vonmises import __all__ as __all__  # pyright: ignore[reportMissingImports]
