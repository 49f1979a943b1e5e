"""The public names of ``ricci_scipy.interpolate``, each a boundary where internal frames end."""

from ricci_ir import guard_public
from ricci_scipy.interpolate import *  # noqa: F403
from ricci_scipy.interpolate import __all__ as __all__

guard_public(globals(), __all__)
