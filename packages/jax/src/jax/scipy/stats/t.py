"""The names of ``ricci.scipy.stats.t``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.t import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.t import __all__ as __all__  # pyright: ignore[reportMissingImports]
