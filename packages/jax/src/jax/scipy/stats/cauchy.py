"""The names of ``ricci.scipy.stats.cauchy``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.cauchy import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.cauchy import __all__ as __all__  # pyright: ignore[reportMissingImports]
