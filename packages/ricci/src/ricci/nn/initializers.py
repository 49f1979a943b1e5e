"""The public names of ``ricci_nn.initializers``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_nn.initializers import *  # noqa: F403
from ricci_nn.initializers import __all__ as __all__

guard_public(globals(), __all__)
