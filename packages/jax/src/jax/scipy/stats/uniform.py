"""The names of ``ricci.scipy.stats.uniform``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.uniform import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.uniform import __all__ as __all__  # pyright: ignore[reportMissingImports]
