"""The names of ``ricci.scipy.stats.dirichlet``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.dirichlet import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.dirichlet import __all__ as __all__  # pyright: ignore[reportMissingImports]
