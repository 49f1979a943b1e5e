"""The names of ``ricci.scipy.stats.laplace``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.laplace import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.laplace import __all__ as __all__  # pyright: ignore[reportMissingImports]
