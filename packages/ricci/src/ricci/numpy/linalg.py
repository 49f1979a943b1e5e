"""The public names of ``ricci_numpy.linalg``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_numpy.linalg import *  # noqa: F403
from ricci_numpy.linalg import __all__ as __all__

guard_public(globals(), __all__)
