"""The names of ``ricci.scipy.stats.betabinom``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.betabinom import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.betabinom import __all__ as __all__  # pyright: ignore[reportMissingImports]
