"""Minimization of functions: ``minimize``, and its results."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.optimize import *

_guard_public(globals())
