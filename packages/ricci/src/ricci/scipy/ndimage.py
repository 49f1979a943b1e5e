"""The public names of ``ricci_scipy.ndimage``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_scipy.ndimage import *  # noqa: F403
from ricci_scipy.ndimage import __all__ as __all__

guard_public(globals(), __all__)
