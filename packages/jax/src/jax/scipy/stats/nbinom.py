"""The names of ``ricci.scipy.stats.nbinom``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.nbinom import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.nbinom import __all__ as __all__  # pyright: ignore[reportMissingImports]
