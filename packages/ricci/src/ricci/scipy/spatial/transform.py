"""The names of ``ricci_scipy.spatial.transform``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_scipy.spatial.transform import *  # noqa: F403
from ricci_scipy.spatial.transform import __all__ as __all__

guard_public(globals(), __all__)
