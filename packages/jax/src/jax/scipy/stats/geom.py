"""The names of ``ricci.scipy.stats.geom``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.geom import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.geom import __all__ as __all__  # pyright: ignore[reportMissingImports]
