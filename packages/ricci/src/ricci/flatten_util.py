"""The public names of ``ricci_numpy.flatten_util``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_numpy.flatten_util import *  # noqa: F403
from ricci_numpy.flatten_util import __all__ as __all__

guard_public(globals(), __all__)
