"""Signals: convolution, correlation, short-time Fourier transforms, detrending."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.signal import *

_guard_public(globals())
