"""The public names of ``ricci_lax.linalg``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_lax.linalg import *  # noqa: F403
from ricci_lax.linalg import __all__ as __all__

guard_public(globals(), __all__)
