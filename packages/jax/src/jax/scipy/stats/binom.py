"""The names of ``ricci.scipy.stats.binom``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.binom import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.binom import __all__ as __all__  # pyright: ignore[reportMissingImports]
