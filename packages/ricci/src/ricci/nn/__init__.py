"""The public names of ``ricci_nn``, each a boundary where internal frames end."""

from ricci_ir import guard_public as _guard_public
from ricci_nn import *

# isort: split
from ricci.nn import initializers as initializers  # not ricci_nn's, which came with the star

_guard_public(globals(), "initializers")
