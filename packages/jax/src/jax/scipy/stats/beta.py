"""The names of ``ricci.scipy.stats.beta``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.beta import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.beta import __all__ as __all__  # pyright: ignore[reportMissingImports]
