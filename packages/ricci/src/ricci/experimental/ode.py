"""Ordinary differential equations. See ``ricci_scipy.ode``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.ode import *

_guard_public(globals())
