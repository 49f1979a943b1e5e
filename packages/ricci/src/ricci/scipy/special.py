"""Special functions: gamma, beta, error, Bessel, zeta and hypergeometric functions."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.special import *

_guard_public(globals())
