"""The names of ``ricci.scipy.stats.poisson``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.poisson import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.poisson import __all__ as __all__  # pyright: ignore[reportMissingImports]
