"""Integration of samples: ``trapezoid``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.integrate import *

_guard_public(globals())
