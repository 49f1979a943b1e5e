"""The public names of ``ricci_numpy.ops``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_numpy.ops import *  # noqa: F403
from ricci_numpy.ops import __all__ as __all__

guard_public(globals(), __all__)
