"""The public names of ``ricci_numpy``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_numpy import *  # noqa: F403
from ricci_numpy import __all__ as __all__

from . import fft as fft
from . import linalg as linalg

guard_public(globals(), __all__)
