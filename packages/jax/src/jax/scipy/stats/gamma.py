"""The names of ``ricci.scipy.stats.gamma``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.gamma import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.gamma import __all__ as __all__  # pyright: ignore[reportMissingImports]
