"""The names of ``ricci.scipy.stats.norm``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.norm import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.norm import __all__ as __all__  # pyright: ignore[reportMissingImports]
