"""The names of ``ricci.numpy``.

Written by tools/drop_in.py.
"""

from ricci.numpy import *  # noqa: F403
from ricci.numpy import __all__ as __all__

# isort: split
import jax.numpy.fft as fft  # noqa: F401
import jax.numpy.linalg as linalg  # noqa: F401
