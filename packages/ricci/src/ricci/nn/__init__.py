"""The public names of ``ricci_nn``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_nn import *  # noqa: F403
from ricci_nn import __all__ as __all__

# isort: split
from ricci.nn import initializers as initializers  # not ricci_nn's, which came with the star

guard_public(globals(), __all__)
