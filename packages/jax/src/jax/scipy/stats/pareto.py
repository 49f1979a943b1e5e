"""The names of ``ricci.scipy.stats.pareto``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.pareto import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.pareto import __all__ as __all__  # pyright: ignore[reportMissingImports]
