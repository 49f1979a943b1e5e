"""The names of ``ricci.scipy.stats.logistic``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.logistic import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.logistic import __all__ as __all__  # pyright: ignore[reportMissingImports]
