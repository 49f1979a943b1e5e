"""The public names of ``ricci_nn.image``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_nn.image import *  # noqa: F403
from ricci_nn.image import __all__ as __all__

guard_public(globals(), __all__)
