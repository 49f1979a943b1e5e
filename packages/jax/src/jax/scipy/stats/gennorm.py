"""The names of ``ricci.scipy.stats.gennorm``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.gennorm import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.gennorm import __all__ as __all__  # pyright: ignore[reportMissingImports]
