"""The names of ``ricci.scipy.stats.gumbel_l``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.gumbel_l import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.gumbel_l import __all__ as __all__  # pyright: ignore[reportMissingImports]
