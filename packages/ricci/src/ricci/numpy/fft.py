"""Discrete Fourier transforms, in one and several dimensions, of real and complex arrays."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.fft import *

_guard_public(globals())
