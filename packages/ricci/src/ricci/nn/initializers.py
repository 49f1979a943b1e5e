"""Initial weights of layers, as functions of a key, a shape and a dtype."""

from ricci_ir import guard_public as _guard_public
from ricci_nn.initializers import *

_guard_public(globals())
