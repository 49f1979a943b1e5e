"""The names of ``ricci.nn``.

Written by tools/drop_in.py.
"""

from ricci.nn import *  # noqa: F403
from ricci.nn import __all__ as __all__

# isort: split
import jax.nn.initializers as initializers  # noqa: F401
