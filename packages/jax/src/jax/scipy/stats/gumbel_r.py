"""The names of ``ricci.scipy.stats.gumbel_r``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.gumbel_r import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.gumbel_r import __all__ as __all__  # pyright: ignore[reportMissingImports]
