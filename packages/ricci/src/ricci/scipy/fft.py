"""Discrete cosine transforms, in one and several dimensions."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.fft import *

_guard_public(globals())
