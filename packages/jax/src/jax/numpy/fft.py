"""The names of ``ricci.numpy.fft``.

Written by tools/drop_in.py.
"""

from ricci.numpy.fft import *  # noqa: F403
from ricci.numpy.fft import __all__ as __all__
