"""Interpolation on regular grids: ``RegularGridInterpolator``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.interpolate import *

_guard_public(globals())
