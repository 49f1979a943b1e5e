"""The names of ``ricci.scipy.fft``.

Written by tools/drop_in.py.
"""

from ricci.scipy.fft import *  # noqa: F403
from ricci.scipy.fft import __all__ as __all__
