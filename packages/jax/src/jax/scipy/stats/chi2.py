"""The names of ``ricci.scipy.stats.chi2``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.chi2 import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.chi2 import __all__ as __all__  # pyright: ignore[reportMissingImports]
