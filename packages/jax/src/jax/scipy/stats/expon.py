"""The names of ``ricci.scipy.stats.expon``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.expon import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.expon import __all__ as __all__  # pyright: ignore[reportMissingImports]
