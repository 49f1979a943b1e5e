"""The names of ``ricci.scipy.stats.multivariate_normal``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.multivariate_normal import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.multivariate_normal import __all__ as __all__  # pyright: ignore[reportMissingImports]
