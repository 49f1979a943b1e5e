"""The names of ``ricci.scipy.stats.bernoulli``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats.bernoulli import *  # noqa: F403  # pyright: ignore[reportMissingImports]
from ricci.scipy.stats.bernoulli import __all__ as __all__  # pyright: ignore[reportMissingImports]
