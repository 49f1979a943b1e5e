"""The names of ``ricci.scipy.stats.truncnorm``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.truncnorm import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.truncnorm import __all__ as __all__  # pyright: ignore[reportMissingImports]
