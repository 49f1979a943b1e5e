"""Recurrent layers. See ``ricci_nn.recurrent``."""

from ricci_ir import guard_public as _guard_public
from ricci_nn import sigmoid as sigmoid
from ricci_nn.recurrent import *
from ricci_numpy import tanh as tanh

_guard_public(globals())
