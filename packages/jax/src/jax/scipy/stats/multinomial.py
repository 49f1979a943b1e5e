"""The names of ``ricci.scipy.stats.multinomial``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.multinomial import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.multinomial import __all__ as __all__  # pyright: ignore[reportMissingImports]
